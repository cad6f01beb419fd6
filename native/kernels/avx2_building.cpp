// AVX2 kernels that building needs (with F16C, which every AVX2 processor has). No fused multiply-add: see kernels.hpp.
#include "kernels/kernels.hpp"
#include "kernels/half.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

namespace asterism {
namespace {

// The three butterflies inside a vector of eight: add the swapped neighbour to +x or -x.
inline __m256 hadamard8(__m256 x) {
    const __m256 minus = _mm256_set1_ps(-0.0f);
    x = _mm256_add_ps(_mm256_permute_ps(x, 0xb1), _mm256_xor_ps(x, _mm256_blend_ps(_mm256_setzero_ps(), minus, 0xaa)));
    x = _mm256_add_ps(_mm256_permute_ps(x, 0x4e), _mm256_xor_ps(x, _mm256_blend_ps(_mm256_setzero_ps(), minus, 0xcc)));
    return _mm256_add_ps(_mm256_permute2f128_ps(x, x, 1), _mm256_xor_ps(x, _mm256_blend_ps(_mm256_setzero_ps(), minus, 0xf0)));
}

inline void butterfly(__m256& a, __m256& b) {
    const __m256 sum = _mm256_add_ps(a, b);
    b = _mm256_sub_ps(a, b);
    a = sum;
}

// The first distances of the transform, on eight vectors in registers; returns the next distance.
inline std::size_t small_butterflies(float* x, std::size_t n) {
    if (n < 8) return 1;
    if (n < 64) {
        for (std::size_t j = 0; j < n; j += 8) _mm256_storeu_ps(x + j, hadamard8(_mm256_loadu_ps(x + j)));
        return 8;
    }
    for (std::size_t start = 0; start < n; start += 64) {
        __m256 v[8];
        for (std::size_t i = 0; i < 8; ++i) v[i] = hadamard8(_mm256_loadu_ps(x + start + 8 * i));
        for (std::size_t i = 0; i < 8; i += 2) butterfly(v[i], v[i + 1]);
        for (const std::size_t i : {0, 1, 4, 5}) butterfly(v[i], v[i + 2]);
        for (std::size_t i = 0; i < 4; ++i) butterfly(v[i], v[i + 4]);
        for (std::size_t i = 0; i < 8; ++i) _mm256_storeu_ps(x + start + 8 * i, v[i]);
    }
    return 64;
}

inline float largest_magnitude(const float* row, std::size_t d) {
    const __m256 without_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    __m256 eight = _mm256_setzero_ps();
    std::size_t j = 0;
    for (; j + 8 <= d; j += 8) eight = _mm256_max_ps(eight, _mm256_and_ps(without_sign, _mm256_loadu_ps(row + j)));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    float largest = std::max(_mm_cvtss_f32(four), _mm_cvtss_f32(_mm_shuffle_ps(four, four, 0x55)));
    for (; j < d; ++j) largest = std::max(largest, std::fabs(row[j]));
    return largest;
}

// 32 bytes after two packs of neighbours, which work on halves of a register.
inline __m256i in_order(__m256i packed) {
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

inline std::int32_t round_to_bytes(const float* row, std::size_t d, float factor, std::int8_t* bytes) {
    const __m256 eight = _mm256_set1_ps(factor);
    const auto rounded = [&](std::size_t j) { return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(row + j), eight)); };
    __m256i sums = _mm256_setzero_si256();
    std::size_t j = 0;
    for (; j + 32 <= d; j += 32) {
        const __m256i low = _mm256_packs_epi32(rounded(j), rounded(j + 8));
        const __m256i high = _mm256_packs_epi32(rounded(j + 16), rounded(j + 24));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_add_epi16(low, high), _mm256_set1_epi16(1)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes + j), in_order(_mm256_packs_epi16(low, high)));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    std::int32_t sum = _mm_extract_epi32(four, 0) + _mm_extract_epi32(four, 1);
    for (; j < d; ++j) {
        bytes[j] = static_cast<std::int8_t>(_mm_cvtss_si32(_mm_set_ss(row[j] * factor)));
        sum += bytes[j];
    }
    return sum;
}

// A code is the number of cutoffs that a coordinate exceeds: counted for 32 coordinates at once.
inline void quantise(const float* residual, float factor, const ResidualCoder& coder, std::uint8_t* codes, float* decoded) {
    const __m256 fine = _mm256_set1_ps(factor * coder.fineness);
    const __m256 most = _mm256_set1_ps(32767.0f);
    const __m256 least = _mm256_set1_ps(-32767.0f);
    const auto whole = [&](std::size_t j) {
        const __m256 value = _mm256_mul_ps(_mm256_loadu_ps(residual + j), fine);
        return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(value, least), most));
    };
    const __m256i levels = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(coder.format.levels)));
    const int count = (1 << coder.format.bits) - 1;
    for (std::size_t j = 0; j < coder.width; j += 32) {
        const __m256i low = _mm256_packs_epi32(whole(j), whole(j + 8));
        const __m256i high = _mm256_packs_epi32(whole(j + 16), whole(j + 24));
        __m256i code = _mm256_setzero_si256();
        for (int i = 0; i < count; ++i) {
            const __m256i cutoff = _mm256_set1_epi16(coder.cutoffs[i]);
            code = _mm256_sub_epi8(code, _mm256_packs_epi16(_mm256_cmpgt_epi16(low, cutoff), _mm256_cmpgt_epi16(high, cutoff)));
        }
        code = in_order(code);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + j), code);
        alignas(32) std::uint8_t chosen[32];
        _mm256_store_si256(reinterpret_cast<__m256i*>(chosen), _mm256_shuffle_epi8(levels, code));
        for (std::size_t i = 0; i < 32; ++i) decoded[j + i] = static_cast<float>(chosen[i]) - coder.zero;
    }
}

// Codes are below 2^bits, so that a shift of 16 bits carries nothing into the next byte.
inline void pack(const std::uint8_t* codes, const CodeFormat& format, std::uint8_t* packed) {
    for (std::size_t unit = 0; unit < format.row_bytes; unit += kUnit) {
        __m128i bytes = _mm_setzero_si128();
        for (int shift = 0; shift < 8; shift += format.bits, codes += kUnit) {
            const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
            bytes = _mm_or_si128(bytes, _mm_sll_epi16(part, _mm_cvtsi32_si128(shift)));
        }
        _mm_storeu_si128(reinterpret_cast<__m128i*>(packed + unit), bytes);
    }
}

#include "kernels/balance.inl"
#include "kernels/rotate.inl"
#include "kernels/to_signed_bytes.inl"
#include "kernels/encode_residual.inl"
#include "kernels/add_signed.inl"

// Transposes 8 x 8 words of four bytes.
void side_by_side(const std::int8_t* const* rows, std::size_t width, std::int8_t* quads) {
    for (std::size_t k = 0; k < width; k += 32) {
        __m256i pairs[8], fours[8];
        for (std::size_t j = 0; j < 8; j += 2) {
            const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[j] + k));
            const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[j + 1] + k));
            pairs[j] = _mm256_unpacklo_epi32(a, b);      // words 0 and 1 of each half
            pairs[j + 1] = _mm256_unpackhi_epi32(a, b);  // 2 and 3
        }
        for (std::size_t j = 0; j < 8; j += 4) {
            for (std::size_t i = 0; i < 2; ++i) {
                fours[j + 2 * i] = _mm256_unpacklo_epi64(pairs[j + i], pairs[j + 2 + i]);
                fours[j + 2 * i + 1] = _mm256_unpackhi_epi64(pairs[j + i], pairs[j + 2 + i]);
            }
        }
        for (std::size_t word = 0; word < 4; ++word) {
            auto* out = reinterpret_cast<__m256i*>(quads + (k + 4 * word) * kQueryGroup);
            _mm256_storeu_si256(out, _mm256_permute2x128_si256(fours[word], fours[word + 4], 0x20));
            _mm256_storeu_si256(out + 4, _mm256_permute2x128_si256(fours[word], fours[word + 4], 0x31));
        }
    }
}

inline __m256i four_dimensions(const std::uint8_t* levels) {
    std::int32_t four;
    std::memcpy(&four, levels, sizeof four);
    return _mm256_set1_epi32(four);
}

// The products of `kRows` rows with eight vectors, one vector per lane: no sums across lanes are needed.
template <std::size_t kRows>
inline void dot_side_by_side(const std::uint8_t* rows, const EightVectors& vectors, __m256i (&sums)[kRows]) {
    for (auto& sum : sums) sum = _mm256_setzero_si256();
    for (std::size_t k = 0; k < vectors.width; k += 16) {
        __m256i quads[4];
        for (std::size_t i = 0; i < 4; ++i) {
            quads[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(vectors.quads + (k + 4 * i) * kQueryGroup));
        }
        for (std::size_t r = 0; r < kRows; ++r) {
            const std::uint8_t* levels = rows + r * vectors.width + k;
            __m256i pairs = _mm256_maddubs_epi16(four_dimensions(levels), quads[0]);
            for (std::size_t i = 1; i < 4; ++i) {
                pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(four_dimensions(levels + 4 * i), quads[i]));
            }
            sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        }
    }
}

// Calls use(row, closeness of the eight vectors) for every row, in order.
template <class Use>
inline void for_each_closeness(const CentroidRows& centroids, const EightVectors& vectors, Use use) {
    constexpr std::size_t kTogether = 4;  // rows that share the vectors' loads
    const __m256 vector_scale = _mm256_loadu_ps(vectors.scale);
    const __m256 offset = _mm256_loadu_ps(vectors.offset);
    const auto finish = [&](std::size_t row, __m256i sum) {
        const __m256 factor = _mm256_mul_ps(_mm256_set1_ps(centroids.scales[row]), vector_scale);
        const __m256 product = _mm256_mul_ps(factor, _mm256_sub_ps(_mm256_cvtepi32_ps(sum), offset));
        use(row, _mm256_sub_ps(product, _mm256_set1_ps(centroids.half_norms[row])));
    };
    std::size_t row = 0;
    for (; row + kTogether <= centroids.count; row += kTogether) {
        __m256i sums[kTogether];
        dot_side_by_side(centroids.rows + row * vectors.width, vectors, sums);
        for (std::size_t r = 0; r < kTogether; ++r) finish(row + r, sums[r]);
    }
    for (; row < centroids.count; ++row) {
        __m256i sums[1];
        dot_side_by_side(centroids.rows + row * vectors.width, vectors, sums);
        finish(row, sums[0]);
    }
}

void closeness(const CentroidRows& centroids, const EightVectors& vectors, float* out, float* closest) {
    __m256 best = _mm256_set1_ps(-INFINITY);
    for_each_closeness(centroids, vectors, [&](std::size_t row, __m256 close) {
        best = _mm256_max_ps(best, close);
        _mm256_storeu_ps(out + row * kQueryGroup, close);
    });
    _mm256_storeu_ps(closest, best);
}

void nearest(const CentroidRows& centroids, const EightVectors& vectors, float* closest, std::uint32_t* nearest) {
    __m256 best = _mm256_loadu_ps(closest);
    __m256i chosen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(nearest));
    for_each_closeness(centroids, vectors, [&](std::size_t row, __m256 close) {
        const __m256 nearer = _mm256_cmp_ps(close, best, _CMP_GT_OQ);
        best = _mm256_blendv_ps(best, close, nearer);
        const __m256i id = _mm256_set1_epi32(static_cast<int>(centroids.first + static_cast<std::uint32_t>(row)));
        chosen = _mm256_blendv_epi8(chosen, id, _mm256_castps_si256(nearer));
    });
    _mm256_storeu_ps(closest, best);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(nearest), chosen);
}

void widen(const std::uint16_t* halves, std::size_t n, float* floats) {
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        _mm256_storeu_ps(floats + j, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + j))));
    }
    for (; j < n; ++j) floats[j] = half_to_float(halves[j]);
}

}  // namespace

void use_avx2_for_building(Kernels& kernels) {
    kernels.balance = balance;
    kernels.rotate = rotate;
    kernels.widen = widen;
    kernels.to_signed_bytes = to_signed_bytes;
    kernels.side_by_side = side_by_side;
    kernels.closeness = closeness;
    kernels.nearest = nearest;
    kernels.add_signed = add_signed;
    kernels.encode_residual = encode_residual;
}

}  // namespace asterism
