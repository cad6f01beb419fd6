// Chooses a kernel table by name, or by what the processor can do.
#include "kernels/kernels.hpp"

#include <cstring>

namespace asterism {
#if defined(ASTERISM_X86)
namespace {

const Kernels& avx2_kernels() {
    static const Kernels table = [] {
        Kernels kernels = scalar_kernels();
        kernels.name = "avx2";
        use_avx2_for_building(kernels);
        use_avx2_for_searching(kernels);
        return kernels;
    }();
    return table;
}

}  // namespace
#endif

const Kernels* find_kernels(const char* name) {
    const bool any = std::strcmp(name, "auto") == 0;
#if defined(ASTERISM_X86)
    if (__builtin_cpu_supports("avx2") && (any || std::strcmp(name, "avx2") == 0)) return &avx2_kernels();
#endif
    if (any || std::strcmp(name, "scalar") == 0) return &scalar_kernels();
    return nullptr;
}

}  // namespace asterism
