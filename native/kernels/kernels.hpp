// The arithmetic of the engine, one table of functions per instruction set.
//
// All kernel sets give the same bits: dot products of codes are integers, and float work is written
// as separate multiplications and additions in a fixed order (the build forbids contraction).
// `kernels/reference.py` states each function in NumPy; the tests compare all of them with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace asterism {

// A code or a centroid is a row of levels 0..63, one byte per dimension; the value is step * (level - zero).
// Six bits, because the sum of four products of a level with a query's signed byte fits 16 bits.
inline constexpr float kCentroidZero = 31.5f;

inline constexpr float kQueryByte = 127.0f;  // the largest of a query token
inline constexpr float kVectorByte = 63.0f;  // of a vector that is assigned to a centroid: eight of its products fit 16 bits

// A packed code is a row of 16-byte units: byte j of a unit holds dimensions j, 16 + j, 32 + j ... of that unit,
// lowest bits first, so that a shift and a mask give 16 consecutive dimensions.
inline constexpr std::size_t kUnit = 16;
inline constexpr std::size_t dimensions_per_unit(int bits) { return kUnit * 8 / static_cast<std::size_t>(bits); }

inline constexpr std::uint32_t kDamagedIds = 0xffffffffu;

// Query tokens are handled eight at a time; missing ones are zero rows.
inline constexpr std::size_t kQueryGroup = 8;

// Query tokens as signed bytes: value = scale * byte. Rows are padded to `width` and `padded` with zeros.
struct QueryLevels {
    std::size_t padded;            // tokens, rounded up to kQueryGroup
    std::size_t width;             // bytes per row, a multiple of 32
    const std::int8_t* rows;       // (padded, width)
    const float* scale;            // (padded,)
    const float* centroid_offset;  // (padded,) kCentroidZero * sum of the row
    const float* code_offset;      // (padded,) code zero * sum of the row
    const float* with_mean;        // (padded,) inner product with the mean that was subtracted from all vectors
};

// A run of centroids, numbered from `first`.
struct CentroidRows {
    const std::uint8_t* rows;  // (count, width) levels
    const float* scales;       // (count,)
    const float* half_norms;   // (count,) |c|^2 / 2
    std::size_t count;
    std::uint32_t first;
};

// Eight vectors as signed bytes, side by side: four dimensions of each, then the next four.
struct EightVectors {
    std::size_t width;          // dimensions, a multiple of 32
    const std::int8_t* quads;   // (width / 4, 8, 4)
    const float* scale;         // (8,) value = scale * byte
    const float* offset;        // (8,) kCentroidZero * sum of the vector's bytes
};

// Token codes of one document (or of any run of tokens).
struct CodeRows {
    std::size_t count;
    const std::uint32_t* centroids;  // (count,)
    const std::uint16_t* scales;     // (count,) float16
    const std::uint8_t* codes;       // (count, row_bytes)
};

struct CodeFormat {
    int bits;                     // 1, 2 or 4
    std::size_t row_bytes;        // units * 16
    const std::uint8_t* levels;   // (16,) level of each code
    float step;                   // decoded residual = token scale * step * (level - zero)
    bool scales_whole_vector;     // ColBERTv2: the token's scale normalises centroid + residual
};

// How a residual becomes a code. Coordinates, in units of the residual's root mean square (or as they are where the scale is
// the whole vector's), and the cutoffs between codes are compared as 16-bit integers, `fineness` to one.
struct ResidualCoder {
    std::size_t dimensions;
    std::size_t width;
    CodeFormat format;
    float zero;
    float fineness;
    std::int16_t cutoffs[15];  // the first 2^bits - 1, ascending
};

struct Kernels {
    const char* name;

    // row (d), in place: minus mean (d) unless that is nullptr, plus `factor` times its component along axis (d).
    void (*balance)(float* row, std::size_t d, const float* mean, const float* axis, float factor);

    // rows (n, d), in place: `rounds` times a sign flip and a Walsh-Hadamard transform; signs (rounds, d).
    void (*rotate)(float* rows, std::size_t n, std::size_t d, const float* signs, std::size_t rounds);

    // row (d) -> bytes (width) of at most `most`, scale, sum of the bytes.
    void (*to_signed_bytes)(const float* row, std::size_t d, std::size_t width, float most, std::int8_t* bytes, float* scale,
                            std::int32_t* sum);

    // row (d) and its centroid -> packed code (row_bytes); returns the token's scale. scratch: 3 * width floats.
    float (*encode_residual)(const float* row, const ResidualCoder& coder, const std::uint8_t* centroid, float centroid_scale,
                             float* scratch, std::uint8_t* packed);

    // rows (n, width) of levels, scales (n,) -> out (n, query.padded): inner products with every query token, with_mean added.
    void (*centroid_scores)(const std::uint8_t* rows, const float* scales, std::size_t n, const QueryLevels& query,
                            float* out);

    // Eight rows (width) of bytes -> quads (width / 4, 8, 4), as in EightVectors.
    void (*side_by_side)(const std::int8_t* const* rows, std::size_t width, std::int8_t* quads);

    // sums (d) += scale * bytes (d).
    void (*add_signed)(const std::int8_t* bytes, float scale, std::size_t d, double* sums);

    // How close eight vectors are to centroids: out (n, 8), x.c - |c|^2 / 2, and the largest for each, closest (8,).
    void (*closeness)(const CentroidRows& centroids, const EightVectors& vectors, float* out, float* closest);

    // Only the closest: where one is closer than `closest` (8,), that and nearest (8,) are replaced.
    void (*nearest)(const CentroidRows& centroids, const EightVectors& vectors, float* closest, std::uint32_t* nearest);

    // float16 -> float32.
    void (*widen)(const std::uint16_t* halves, std::size_t n, float* floats);

    // scores (n, columns) row-major -> positions row * columns + column of those above their column's threshold.
    std::size_t (*above)(const float* scores, std::size_t n, std::size_t columns, const float* thresholds,
                         std::uint32_t* out);

    // scores (n, columns) -> bytes (n, stride): rint(clamp((score - low[column]) * factor, 0, 255)), for the first
    // min(columns, stride) columns, zero beyond.
    void (*to_bytes)(const float* scores, std::size_t n, std::size_t columns, const float* low, float factor,
                     std::uint8_t* out, std::size_t stride);

    // byte rows (rows, stride) gathered by ids (n,): the sum over columns of the maximum over ids. stride a multiple
    // of 16. kDamagedIds if an id is no row.
    std::uint32_t (*interaction)(const std::uint8_t* bytes, std::size_t stride, std::size_t rows, const std::uint32_t* ids,
                                 std::size_t n);

    // best (query.padded): maximum over the tokens of decoded similarity; centroid_table (K, query.padded).
    void (*maxsim_codes)(const CodeRows& tokens, const CodeFormat& format, const QueryLevels& query,
                         const float* centroid_table, float* best);

    // One token against one query token.
    float (*score_code)(const CodeRows& token, const CodeFormat& format, const QueryLevels& query, std::size_t query_token,
                        float centroid_score);

    // best (q): maximum over tokens (n, d) of the inner product with queries (q, d).
    void (*maxsim_float32)(const float* tokens, std::size_t n, const float* queries, std::size_t q, std::size_t d, float* best);
    void (*maxsim_float16)(const std::uint16_t* tokens, std::size_t n, const float* queries, std::size_t q, std::size_t d,
                           float* best);

    // sums (n,) += row (n,) * factor / 256; plus one if the byte is not 0, which rounds up.
    void (*add_row)(const std::uint8_t* row, std::size_t n, std::uint16_t factor, std::uint16_t* sums);

    // Places 0..n of those sums (n,) that are at least `least` -> out, which has room for n; returns how many.
    std::size_t (*reaching)(const std::uint16_t* sums, std::size_t n, std::uint16_t least, std::uint32_t* out);
};

// The table called `name` ("scalar", "avx2", or "auto": the best this machine runs); nullptr if there is none.
const Kernels* find_kernels(const char* name);

const Kernels& scalar_kernels();
#if defined(ASTERISM_X86)
void use_avx2_for_building(Kernels& kernels);
void use_avx2_for_searching(Kernels& kernels);
#endif

}  // namespace asterism
