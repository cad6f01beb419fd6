// AVX2 kernels for searching (with F16C, which every AVX2 processor has). No fused multiply-add: see kernels.hpp.
#include "kernels/kernels.hpp"
#include "kernels/half.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

namespace asterism {
namespace {

#include "kernels/add_row.inl"

// 64 products at once: levels are at most 63, so the sum of four products fits 16 bits.
inline __m256i dot64(__m256i levels0, __m256i levels1, const std::int8_t* bytes) {
    const __m256i low = _mm256_maddubs_epi16(levels0, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    const __m256i high = _mm256_maddubs_epi16(levels1, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32)));
    return _mm256_madd_epi16(_mm256_add_epi16(low, high), _mm256_set1_epi16(1));
}

inline __m256i dot32(__m256i levels, const std::int8_t* bytes) {
    const __m256i pairs = _mm256_maddubs_epi16(levels, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

// Eight vectors of eight partial sums -> one vector of their eight totals, in order.
inline __m256i totals(const __m256i (&sums)[8]) {
    const __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    const __m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[4], sums[5]), _mm256_hadd_epi32(sums[6], sums[7]));
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

inline __m256i load_levels(const std::uint8_t* levels) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(levels));
}

// One row of levels with eight rows of query bytes.
template <bool kWidth128>
inline __m256i dot_eight_queries(const std::uint8_t* levels, const std::int8_t* queries, std::size_t width) {
    __m256i sums[8];
    if constexpr (kWidth128) {
        const __m256i l0 = load_levels(levels), l1 = load_levels(levels + 32);
        const __m256i l2 = load_levels(levels + 64), l3 = load_levels(levels + 96);
        for (int j = 0; j < 8; ++j) {
            sums[j] = _mm256_add_epi32(dot64(l0, l1, queries + j * 128), dot64(l2, l3, queries + j * 128 + 64));
        }
    } else {
        for (auto& sum : sums) sum = _mm256_setzero_si256();
        std::size_t k = 0;
        for (; k + 64 <= width; k += 64) {
            const __m256i l0 = load_levels(levels + k), l1 = load_levels(levels + k + 32);
            for (std::size_t j = 0; j < 8; ++j) sums[j] = _mm256_add_epi32(sums[j], dot64(l0, l1, queries + j * width + k));
        }
        if (k < width) {
            const __m256i l0 = load_levels(levels + k);
            for (std::size_t j = 0; j < 8; ++j) sums[j] = _mm256_add_epi32(sums[j], dot32(l0, queries + j * width + k));
        }
    }
    return totals(sums);
}

template <bool kWidth128>
void centroid_scores_of(const std::uint8_t* rows, const float* scales, std::size_t n, const QueryLevels& query, float* out) {
    for (std::size_t row = 0; row < n; ++row) {
        const __m256 scale = _mm256_set1_ps(scales[row]);
        for (std::size_t j = 0; j < query.padded; j += 8) {
            const __m256i sum =
                dot_eight_queries<kWidth128>(rows + row * query.width, query.rows + j * query.width, query.width);
            const __m256 centred = _mm256_sub_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(query.centroid_offset + j));
            const __m256 factor = _mm256_mul_ps(scale, _mm256_loadu_ps(query.scale + j));
            const __m256 score = _mm256_add_ps(_mm256_mul_ps(factor, centred), _mm256_loadu_ps(query.with_mean + j));
            _mm256_storeu_ps(out + row * query.padded + j, score);
        }
    }
}

void centroid_scores(const std::uint8_t* rows, const float* scales, std::size_t n, const QueryLevels& query, float* out) {
    if (query.width == 128) centroid_scores_of<true>(rows, scales, n, query, out);
    else centroid_scores_of<false>(rows, scales, n, query, out);
}

std::size_t above(const float* scores, std::size_t n, std::size_t columns, const float* thresholds, std::uint32_t* out) {
    std::size_t found = 0;
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t column = 0; column < columns; column += 8) {
            const std::size_t position = row * columns + column;
            const __m256 greater =
                _mm256_cmp_ps(_mm256_loadu_ps(scores + position), _mm256_loadu_ps(thresholds + column), _CMP_GT_OQ);
            auto mask = static_cast<unsigned>(_mm256_movemask_ps(greater));
            for (; mask != 0; mask &= mask - 1) {
                out[found++] = static_cast<std::uint32_t>(position) + static_cast<std::uint32_t>(__builtin_ctz(mask));
            }
        }
    }
    return found;
}

void to_bytes(const float* scores, std::size_t n, std::size_t columns, const float* low, float factor, std::uint8_t* out,
              std::size_t stride) {
    const __m256 scale = _mm256_set1_ps(factor);
    const __m256 top = _mm256_set1_ps(255.0f);
    for (std::size_t row = 0; row < n; ++row) {
        std::uint8_t* bytes = out + row * stride;
        if (columns < stride) std::memset(bytes + columns, 0, stride - columns);
        for (std::size_t column = 0; column < std::min(columns, stride); column += 8) {
            __m256 value = _mm256_sub_ps(_mm256_loadu_ps(scores + row * columns + column), _mm256_loadu_ps(low + column));
            value = _mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(value, scale), _mm256_setzero_ps()), top);
            const __m256i whole = _mm256_cvtps_epi32(value);
            const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
            _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes + column), _mm_packus_epi16(words, words));
        }
    }
}

// Checks ids on the way: an invalid id reads row 0 and makes the result kDamagedIds.
std::uint32_t interaction(const std::uint8_t* bytes, std::size_t stride, std::size_t rows, const std::uint32_t* ids,
                          std::size_t n) {
    std::uint32_t total = 0;
    bool damaged = false;
    const auto row_of = [&](std::uint32_t id) {
        const bool known = id < rows;
        damaged |= !known;
        return bytes + (known ? id : 0) * stride;
    };
    std::size_t column = 0;
    for (; column + 32 <= stride; column += 32) {
        __m256i best = _mm256_setzero_si256();
        for (std::size_t t = 0; t < n; ++t) best = _mm256_max_epu8(best, load_levels(row_of(ids[t]) + column));
        alignas(32) std::uint64_t sums[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(sums), _mm256_sad_epu8(best, _mm256_setzero_si256()));
        total += static_cast<std::uint32_t>(sums[0] + sums[1] + sums[2] + sums[3]);
    }
    if (column < stride) {
        __m128i best = _mm_setzero_si128();
        for (std::size_t t = 0; t < n; ++t) {
            best = _mm_max_epu8(best, _mm_loadu_si128(reinterpret_cast<const __m128i*>(row_of(ids[t]) + column)));
        }
        const __m128i sums = _mm_sad_epu8(best, _mm_setzero_si128());
        total += static_cast<std::uint32_t>(_mm_extract_epi64(sums, 0) + _mm_extract_epi64(sums, 1));
    }
    return damaged ? kDamagedIds : total;
}

template <int kBits>
inline void unpack_as(const std::uint8_t* code, const CodeFormat& format, __m256i table, std::uint8_t* levels) {
    const __m256i mask = _mm256_set1_epi8((1 << kBits) - 1);
    for (std::size_t unit = 0; unit < format.row_bytes; unit += kUnit) {
        const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(code + unit));
        for (int shift = 0; shift < 8; shift += 2 * kBits) {
            const __m256i two = _mm256_set_m128i(_mm_srli_epi16(packed, shift + kBits), _mm_srli_epi16(packed, shift));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(levels),
                                _mm256_shuffle_epi8(table, _mm256_and_si256(two, mask)));
            levels += 32;
        }
    }
}

inline void unpack(const std::uint8_t* code, const CodeFormat& format, __m256i table, std::uint8_t* levels) {
    if (format.bits == 4) unpack_as<4>(code, format, table, levels);
    else if (format.bits == 2) unpack_as<2>(code, format, table, levels);
    else unpack_as<1>(code, format, table, levels);
}

inline __m256i level_table(const CodeFormat& format) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(format.levels)));
}

constexpr std::size_t kWidest = 8192;  // bytes of stack for one unpacked row; wider rows are refused at build

template <bool kWidth128>
void maxsim_codes_of(const CodeRows& tokens, const CodeFormat& format, const QueryLevels& query, const float* centroid_table,
                     float* best) {
    alignas(32) std::uint8_t levels[kWidth128 ? 128 : kWidest];
    const __m256i table = level_table(format);
    for (std::size_t j = 0; j < query.padded; j += 8) _mm256_storeu_ps(best + j, _mm256_set1_ps(-INFINITY));
    for (std::size_t t = 0; t < tokens.count; ++t) {
        unpack(tokens.codes + t * format.row_bytes, format, table, levels);
        const float token_scale = half_to_float(tokens.scales[t]);
        const __m256 whole = _mm256_set1_ps(format.scales_whole_vector ? token_scale : 1.0f);
        const __m256 residual = _mm256_set1_ps(token_scale * format.step);
        const float* centroid_row = centroid_table + tokens.centroids[t] * query.padded;
        for (std::size_t j = 0; j < query.padded; j += 8) {
            const __m256i sum = dot_eight_queries<kWidth128>(levels, query.rows + j * query.width, query.width);
            const __m256 centred = _mm256_sub_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(query.code_offset + j));
            const __m256 residual_part = _mm256_mul_ps(_mm256_mul_ps(residual, _mm256_loadu_ps(query.scale + j)), centred);
            const __m256 centroid_part = _mm256_mul_ps(whole, _mm256_loadu_ps(centroid_row + j));
            const __m256 similarity = _mm256_add_ps(residual_part, centroid_part);
            _mm256_storeu_ps(best + j, _mm256_max_ps(similarity, _mm256_loadu_ps(best + j)));
        }
    }
}

void maxsim_codes(const CodeRows& tokens, const CodeFormat& format, const QueryLevels& query, const float* centroid_table,
                  float* best) {
    if (query.width == 128) maxsim_codes_of<true>(tokens, format, query, centroid_table, best);
    else maxsim_codes_of<false>(tokens, format, query, centroid_table, best);
}

float score_code(const CodeRows& token, const CodeFormat& format, const QueryLevels& query, std::size_t query_token,
                 float centroid_score) {
    alignas(32) std::uint8_t levels[kWidest];
    unpack(token.codes, format, level_table(format), levels);
    const std::int8_t* bytes = query.rows + query_token * query.width;
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t k = 0; k < query.width; k += 32) sum = _mm256_add_epi32(sum, dot32(load_levels(levels + k), bytes + k));
    const __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    const __m128i quarter = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    const std::int32_t total = _mm_extract_epi32(quarter, 0) + _mm_extract_epi32(quarter, 1);
    const float token_scale = half_to_float(token.scales[0]);
    const float centroid_part = format.scales_whole_vector ? token_scale * centroid_score : centroid_score;
    const float residual_part = ((token_scale * format.step) * query.scale[query_token]) *
                                (static_cast<float>(total) - query.code_offset[query_token]);
    return residual_part + centroid_part;
}

inline __m256 load8(const float* values) { return _mm256_loadu_ps(values); }
inline __m256 load8(const std::uint16_t* values) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)));
}

// The first `count` of eight values, the rest zero.
template <class Stored>
inline __m256 load_tail(const Stored* values, std::size_t count) {
    Stored padded[8] = {};
    std::memcpy(padded, values, count * sizeof(Stored));
    return load8(padded);
}

inline float lane_total(__m256 lanes) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));  // 0+4 1+5 2+6 3+7
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));                                  // low, high
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 0x55)));
}

// Four query tokens share each load of the document token.
template <class Stored>
void maxsim_floats(const Stored* tokens, std::size_t n, const float* queries, std::size_t q, std::size_t d, float* best) {
    std::fill(best, best + q, -INFINITY);
    const std::size_t whole = d / 8 * 8;
    for (std::size_t t = 0; t < n; ++t) {
        const Stored* token = tokens + t * d;
        std::size_t j = 0;
        for (; j + 4 <= q; j += 4) {
            __m256 lanes[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
            for (std::size_t k = 0; k < whole; k += 8) {
                const __m256 x = load8(token + k);
                for (std::size_t i = 0; i < 4; ++i) {
                    lanes[i] = _mm256_add_ps(lanes[i], _mm256_mul_ps(x, load8(queries + (j + i) * d + k)));
                }
            }
            for (std::size_t i = 0; i < 4; ++i) {
                if (whole < d) {
                    const __m256 tail = _mm256_mul_ps(load_tail(token + whole, d - whole),
                                                      load_tail(queries + (j + i) * d + whole, d - whole));
                    lanes[i] = _mm256_add_ps(lanes[i], tail);
                }
                best[j + i] = std::max(best[j + i], lane_total(lanes[i]));
            }
        }
        for (; j < q; ++j) {
            __m256 lanes = _mm256_setzero_ps();
            for (std::size_t k = 0; k < whole; k += 8) {
                lanes = _mm256_add_ps(lanes, _mm256_mul_ps(load8(token + k), load8(queries + j * d + k)));
            }
            if (whole < d) {
                const __m256 tail =
                    _mm256_mul_ps(load_tail(token + whole, d - whole), load_tail(queries + j * d + whole, d - whole));
                lanes = _mm256_add_ps(lanes, tail);
            }
            best[j] = std::max(best[j], lane_total(lanes));
        }
    }
}

std::size_t reaching(const std::uint16_t* sums, std::size_t n, std::uint16_t least, std::uint32_t* out) {
    const __m256i threshold = _mm256_set1_epi16(static_cast<std::int16_t>(least));
    std::size_t count = 0;
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i + 16));
        // Unsigned x >= y where the larger of both is x.
        const __m256i in_a = _mm256_cmpeq_epi16(_mm256_max_epu16(a, threshold), a);
        const __m256i in_b = _mm256_cmpeq_epi16(_mm256_max_epu16(b, threshold), b);
        const __m256i in_order = _mm256_permute4x64_epi64(_mm256_packs_epi16(in_a, in_b), 0xd8);
        auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(in_order));
        for (; mask != 0; mask &= mask - 1) out[count++] = static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctz(mask));
    }
    for (; i < n; ++i) {
        if (sums[i] >= least) out[count++] = static_cast<std::uint32_t>(i);
    }
    return count;
}

}  // namespace

void use_avx2_for_searching(Kernels& kernels) {
    kernels.centroid_scores = centroid_scores;
    kernels.above = above;
    kernels.to_bytes = to_bytes;
    kernels.interaction = interaction;
    kernels.maxsim_codes = maxsim_codes;
    kernels.score_code = score_code;
    kernels.maxsim_float32 = maxsim_floats<float>;
    kernels.maxsim_float16 = maxsim_floats<std::uint16_t>;
    kernels.add_row = add_row;
    kernels.reaching = reaching;
}

}  // namespace asterism
