// Portable kernels. The vector kernels must give the same bits.
#include "kernels/kernels.hpp"
#include "kernels/half.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace asterism {
namespace {

// To the nearest integer, ties to even, for numbers up to 2^22: adding 1.5 * 2^23 leaves no other bits, and vectorises everywhere.
inline float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }

inline std::size_t small_butterflies(float*, std::size_t) { return 1; }

inline void quantise(const float* residual, float factor, const ResidualCoder& coder, std::uint8_t* codes, float* decoded) {
    const std::int16_t* end = coder.cutoffs + (1 << coder.format.bits) - 1;
    for (std::size_t j = 0; j < coder.width; ++j) {
        const float fine = std::clamp(residual[j] * (factor * coder.fineness), -32767.0f, 32767.0f);
        const auto whole = static_cast<std::int16_t>(rounded(fine));
        codes[j] = static_cast<std::uint8_t>(std::lower_bound(coder.cutoffs, end, whole) - coder.cutoffs);
        decoded[j] = static_cast<float>(coder.format.levels[codes[j]]) - coder.zero;
    }
}

inline void pack(const std::uint8_t* codes, const CodeFormat& format, std::uint8_t* packed) {
    const std::size_t bits = static_cast<std::size_t>(format.bits);
    const std::size_t per_byte = 8 / bits;
    for (std::size_t unit = 0; unit < format.row_bytes / kUnit; ++unit) {
        for (std::size_t j = 0; j < kUnit; ++j) {
            std::int32_t byte = 0;
            for (std::size_t part = 0; part < per_byte; ++part) {
                byte |= codes[(unit * per_byte + part) * kUnit + j] << (bits * part);
            }
            packed[unit * kUnit + j] = static_cast<std::uint8_t>(byte);
        }
    }
}

inline float largest_magnitude(const float* row, std::size_t d) {
    float largest = 0.0f;
    for (std::size_t j = 0; j < d; ++j) largest = std::max(largest, std::fabs(row[j]));
    return largest;
}

inline std::int32_t round_to_bytes(const float* row, std::size_t d, float factor, std::int8_t* bytes) {
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < d; ++j) {
        bytes[j] = static_cast<std::int8_t>(rounded(row[j] * factor));
        sum += bytes[j];
    }
    return sum;
}

#include "kernels/balance.inl"
#include "kernels/rotate.inl"
#include "kernels/to_signed_bytes.inl"
#include "kernels/encode_residual.inl"
#include "kernels/add_signed.inl"
#include "kernels/add_row.inl"

std::int32_t dot(const std::uint8_t* levels, const std::int8_t* bytes, std::size_t width) {
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < width; ++j) sum += levels[j] * bytes[j];
    return sum;
}

void centroid_scores(const std::uint8_t* rows, const float* scales, std::size_t n, const QueryLevels& query, float* out) {
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t j = 0; j < query.padded; ++j) {
            const auto sum = static_cast<float>(dot(rows + row * query.width, query.rows + j * query.width, query.width));
            out[row * query.padded + j] = (scales[row] * query.scale[j]) * (sum - query.centroid_offset[j]) + query.with_mean[j];
        }
    }
}

void side_by_side(const std::int8_t* const* rows, std::size_t width, std::int8_t* quads) {
    for (std::size_t k = 0; k < width; k += 4) {
        for (std::size_t j = 0; j < kQueryGroup; ++j) std::copy_n(rows[j] + k, 4, quads + (k / 4 * kQueryGroup + j) * 4);
    }
}

float close_to(const CentroidRows& centroids, std::size_t row, const EightVectors& vectors, std::size_t j) {
    std::int32_t sum = 0;
    for (std::size_t k = 0; k < vectors.width; ++k) {
        sum += centroids.rows[row * vectors.width + k] * vectors.quads[(k / 4 * kQueryGroup + j) * 4 + k % 4];
    }
    const float product = (centroids.scales[row] * vectors.scale[j]) * (static_cast<float>(sum) - vectors.offset[j]);
    return product - centroids.half_norms[row];
}

void closeness(const CentroidRows& centroids, const EightVectors& vectors, float* out, float* closest) {
    std::fill(closest, closest + kQueryGroup, -INFINITY);
    for (std::size_t row = 0; row < centroids.count; ++row) {
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            out[row * kQueryGroup + j] = close_to(centroids, row, vectors, j);
            closest[j] = std::max(closest[j], out[row * kQueryGroup + j]);
        }
    }
}

void nearest(const CentroidRows& centroids, const EightVectors& vectors, float* closest, std::uint32_t* nearest) {
    for (std::size_t row = 0; row < centroids.count; ++row) {
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            const float close = close_to(centroids, row, vectors, j);
            if (close > closest[j]) {
                closest[j] = close;
                nearest[j] = centroids.first + static_cast<std::uint32_t>(row);
            }
        }
    }
}

void widen(const std::uint16_t* halves, std::size_t n, float* floats) {
    for (std::size_t j = 0; j < n; ++j) floats[j] = half_to_float(halves[j]);
}

std::size_t above(const float* scores, std::size_t n, std::size_t columns, const float* thresholds, std::uint32_t* out) {
    std::size_t found = 0;
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t position = row * columns + column;
            if (scores[position] > thresholds[column]) out[found++] = static_cast<std::uint32_t>(position);
        }
    }
    return found;
}

void to_bytes(const float* scores, std::size_t n, std::size_t columns, const float* low, float factor, std::uint8_t* out,
              std::size_t stride) {
    for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t column = 0; column < stride; ++column) {
            float value = 0.0f;
            if (column < columns) value = (scores[row * columns + column] - low[column]) * factor;
            out[row * stride + column] = static_cast<std::uint8_t>(rounded(std::clamp(value, 0.0f, 255.0f)));
        }
    }
}

std::uint32_t interaction(const std::uint8_t* bytes, std::size_t stride, std::size_t rows, const std::uint32_t* ids,
                          std::size_t n) {
    std::uint32_t total = 0;
    if (std::any_of(ids, ids + n, [rows](std::uint32_t id) { return id >= rows; })) return kDamagedIds;
    for (std::size_t column = 0; column < stride; ++column) {
        std::uint8_t best = 0;
        for (std::size_t t = 0; t < n; ++t) best = std::max(best, bytes[ids[t] * stride + column]);
        total += best;
    }
    return total;
}

void unpack(const std::uint8_t* code, const CodeFormat& format, std::uint8_t* levels) {
    const std::size_t per_byte = 8 / static_cast<std::size_t>(format.bits);
    const std::uint8_t mask = static_cast<std::uint8_t>((1 << format.bits) - 1);
    for (std::size_t unit = 0; unit < format.row_bytes / kUnit; ++unit) {
        for (std::size_t part = 0; part < per_byte; ++part) {
            for (std::size_t j = 0; j < kUnit; ++j) {
                const int shifted = code[unit * kUnit + j] >> (part * static_cast<std::size_t>(format.bits));
                levels[(unit * per_byte + part) * kUnit + j] = format.levels[shifted & mask];
            }
        }
    }
}

float decoded_similarity(std::int32_t sum, float token_scale, const CodeFormat& format, const QueryLevels& query, std::size_t j,
                         float centroid_score) {
    const float centroid_part = format.scales_whole_vector ? token_scale * centroid_score : centroid_score;
    const float residual_part = ((token_scale * format.step) * query.scale[j]) * (static_cast<float>(sum) - query.code_offset[j]);
    return residual_part + centroid_part;
}

void maxsim_codes(const CodeRows& tokens, const CodeFormat& format, const QueryLevels& query, const float* centroid_table,
                  float* best) {
    std::vector<std::uint8_t> levels(query.width);
    std::fill(best, best + query.padded, -INFINITY);
    for (std::size_t t = 0; t < tokens.count; ++t) {
        unpack(tokens.codes + t * format.row_bytes, format, levels.data());
        const float scale = half_to_float(tokens.scales[t]);
        const float* centroid_row = centroid_table + tokens.centroids[t] * query.padded;
        for (std::size_t j = 0; j < query.padded; ++j) {
            const std::int32_t sum = dot(levels.data(), query.rows + j * query.width, query.width);
            best[j] = std::max(best[j], decoded_similarity(sum, scale, format, query, j, centroid_row[j]));
        }
    }
}

float score_code(const CodeRows& token, const CodeFormat& format, const QueryLevels& query, std::size_t query_token,
                 float centroid_score) {
    std::vector<std::uint8_t> levels(query.width);
    unpack(token.codes, format, levels.data());
    const std::int32_t sum = dot(levels.data(), query.rows + query_token * query.width, query.width);
    return decoded_similarity(sum, half_to_float(token.scales[0]), format, query, query_token, centroid_score);
}

float load(const float* values, std::size_t j) { return values[j]; }
float load(const std::uint16_t* values, std::size_t j) { return half_to_float(values[j]); }

// Eight running sums, then a fixed tree: the order that eight vector lanes give.
template <class Stored>
float dot_lanes(const Stored* token, const float* query, std::size_t d) {
    float lanes[8] = {};
    for (std::size_t j = 0; j < d; ++j) lanes[j % 8] += load(token, j) * query[j];
    const float low = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6]);
    const float high = (lanes[1] + lanes[5]) + (lanes[3] + lanes[7]);
    return low + high;
}

template <class Stored>
void maxsim_floats(const Stored* tokens, std::size_t n, const float* queries, std::size_t q, std::size_t d, float* best) {
    std::fill(best, best + q, -INFINITY);
    for (std::size_t t = 0; t < n; ++t) {
        for (std::size_t j = 0; j < q; ++j) best[j] = std::max(best[j], dot_lanes(tokens + t * d, queries + j * d, d));
    }
}

std::size_t reaching(const std::uint16_t* sums, std::size_t n, std::uint16_t least, std::uint32_t* out) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (sums[i] >= least) out[count++] = static_cast<std::uint32_t>(i);
    }
    return count;
}

}  // namespace

const Kernels& scalar_kernels() {
    static const Kernels table{
        .name = "scalar",
        .balance = balance,
        .rotate = rotate,
        .to_signed_bytes = to_signed_bytes,
        .encode_residual = encode_residual,
        .centroid_scores = centroid_scores,
        .side_by_side = side_by_side,
        .add_signed = add_signed,
        .closeness = closeness,
        .nearest = nearest,
        .widen = widen,
        .above = above,
        .to_bytes = to_bytes,
        .interaction = interaction,
        .maxsim_codes = maxsim_codes,
        .score_code = score_code,
        .maxsim_float32 = maxsim_floats<float>,
        .maxsim_float16 = maxsim_floats<std::uint16_t>,
        .add_row = add_row,
        .reaching = reaching,
    };
    return table;
}

}  // namespace asterism
