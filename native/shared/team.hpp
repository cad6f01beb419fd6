// A few threads that run the stages of one job together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace asterism {

struct Range {
    std::size_t begin;
    std::size_t end;
};

// Part `rank` of `size` of 0..n, cut at multiples of `grain`.
inline Range part_of(std::size_t n, std::size_t rank, std::size_t size, std::size_t grain = 1) {
    const std::size_t grains = (n + grain - 1) / grain;
    return {std::min(n, grains * rank / size * grain), std::min(n, grains * (rank + 1) / size * grain)};
}

class Team {
public:
    // Has fewer members than requested if the system gives no more threads: results do not depend on their number.
    explicit Team(std::size_t size) {
        try {
            for (std::size_t rank = 1; rank < size; ++rank) members_.emplace_back([this, rank] { follow(rank); });
        } catch (const std::system_error&) {
        }
    }

    ~Team() {
        stage_ = nullptr;
        epoch_.fetch_add(1, std::memory_order_release);
        for (auto& member : members_) member.join();
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    std::size_t size() const { return members_.size() + 1; }

    // Calls stage(rank) on every member and returns when all are done; rethrows the first exception.
    void run(const std::function<void(std::size_t)>& stage) {
        if (members_.empty()) return stage(0);
        stage_ = &stage;
        busy_.store(members_.size(), std::memory_order_relaxed);
        epoch_.fetch_add(1, std::memory_order_release);
        perform(stage, 0);
        for (std::size_t spins = 0; busy_.load(std::memory_order_acquire) != 0; ++spins) relax(spins);
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    // Stages of a query take fractions of a millisecond: spinning is faster than sleeping, and yielding frees the core.
    static void relax(std::size_t spins) {
        if (spins > 256) std::this_thread::yield();
    }

    void perform(const std::function<void(std::size_t)>& stage, std::size_t rank) {
        try {
            stage(rank);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
        }
    }

    void follow(std::size_t rank) {
        for (std::size_t seen = 0;; ++seen) {
            for (std::size_t spins = 0; epoch_.load(std::memory_order_acquire) == seen; ++spins) relax(spins);
            if (stage_ == nullptr) return;
            perform(*stage_, rank);
            busy_.fetch_sub(1, std::memory_order_release);
        }
    }

    std::vector<std::thread> members_;
    std::atomic<std::size_t> epoch_{0};
    std::atomic<std::size_t> busy_{0};
    const std::function<void(std::size_t)>* stage_ = nullptr;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace asterism
