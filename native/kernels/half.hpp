// float16 -> float32 without hardware support; exact for every input.
#pragma once

#include <bit>
#include <cstdint>

namespace asterism {

inline float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1fu;
    const std::uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t rebased = exponent == 31 ? 255u : exponent + 112u;
    return std::bit_cast<float>(sign | (rebased << 23) | (mantissa << 13));
}

}  // namespace asterism
