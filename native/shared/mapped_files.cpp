#include "shared/mapped_files.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <system_error>

namespace asterism {

namespace {
constexpr std::uintptr_t kNowhere = UINTPTR_MAX;
}

// The handler may run at any time in any thread, so it walks a list that only grows and reads only atomics. A region that
// is no longer mapped is empty, and is reused.
struct MappedRegion {
    std::atomic<std::uintptr_t> begin{kNowhere};
    std::atomic<std::uintptr_t> end{0};  // 0: not in use
    std::atomic<bool> lost{false};
    MappedRegion* next = nullptr;
    std::string name;  // guarded by the mutex
};

namespace {

std::atomic<MappedRegion*> regions{nullptr};
std::atomic<bool> any_lost{false};
std::mutex mutex;
struct sigaction previous_handler;

std::uintptr_t page_bytes() {
    static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

MappedRegion* region_at(std::uintptr_t address) {
    for (MappedRegion* region = regions.load(std::memory_order_acquire); region; region = region->next) {
        if (address >= region->begin.load() && address < region->end.load()) return region;
    }
    return nullptr;
}

void pass_on(int signal, siginfo_t* info, void* context) {
    if (previous_handler.sa_flags & SA_SIGINFO) {
        previous_handler.sa_sigaction(signal, info, context);
    } else if (previous_handler.sa_handler != SIG_DFL && previous_handler.sa_handler != SIG_IGN) {
        previous_handler.sa_handler(signal);
    } else {
        std::signal(signal, SIG_DFL);  // the access is repeated and kills the process
    }
}

void replace_lost_page(int signal, siginfo_t* info, void* context) {
    const int saved = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    MappedRegion* region = region_at(address);
    void* page = reinterpret_cast<void*>(address / page_bytes() * page_bytes());
    if (region && mmap(page, page_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
        region->lost.store(true);
        any_lost.store(true);
    } else {
        pass_on(signal, info, context);
    }
    errno = saved;
}

void install_handler() {
    page_bytes();
    struct sigaction handler {};
    handler.sa_sigaction = replace_lost_page;
    handler.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&handler.sa_mask);
    sigaction(SIGBUS, &handler, &previous_handler);
}

MappedRegion* add_region(std::uintptr_t begin, std::size_t size, std::string name) {
    static std::once_flag installed;
    std::call_once(installed, install_handler);
    const std::lock_guard lock(mutex);
    MappedRegion* region = regions.load();
    while (region && region->end.load() != 0) region = region->next;
    const bool fresh = !region;
    if (fresh) region = new MappedRegion;
    region->name = std::move(name);
    region->lost.store(false);
    region->end.store(begin + size);
    region->begin.store(begin);
    if (fresh) {
        region->next = regions.load();
        regions.store(region, std::memory_order_release);
    }
    return region;
}

}  // namespace

MappedFile::MappedFile(int descriptor, std::size_t size, std::string name) : size_(size) {
    void* place = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (place == MAP_FAILED) throw std::system_error(errno, std::generic_category());
    data_ = static_cast<unsigned char*>(place);
    region_ = add_region(reinterpret_cast<std::uintptr_t>(place), size, std::move(name));
}

MappedFile::~MappedFile() {
    const std::lock_guard lock(mutex);
    region_->begin.store(kNowhere);
    munmap(data_, size_);
    region_->end.store(0);  // last: from here on it can be reused
}

void forget_pages(const void* begin, std::size_t bytes) {
    const std::uintptr_t page = page_bytes();
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    if (bytes == 0 || !region_at(first)) return;
    const std::uintptr_t from = first / page * page;  // a page shared with a neighbour is read again when needed
    madvise(reinterpret_cast<void*>(from), first + bytes - from, MADV_DONTNEED);
}

std::vector<std::string> lost_files() {
    std::vector<std::string> names;
    if (!any_lost.load()) return names;
    const std::lock_guard lock(mutex);
    for (MappedRegion* region = regions.load(); region; region = region->next) {
        if (region->end.load() != 0 && region->lost.load()) names.push_back(region->name);
    }
    return names;
}

}  // namespace asterism
