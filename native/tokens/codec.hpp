// Centroids and residual codes, which store an index's vectors. Non-owning: the caller owns the arrays.
#pragma once

#include "kernels/kernels.hpp"
#include "shared/team.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asterism {

// Centroids in groups of neighbours: a vector is compared only with the children of its nearest groups.
struct CentroidTree {
    std::size_t width;
    const std::uint8_t* rows;        // (K, width) levels
    const float* scales;             // (K,)
    const float* half_norms;         // (K,) |c|^2 / 2
    std::size_t groups;              // G
    const std::uint8_t* group_rows;  // (G, width)
    const float* group_scales;       // (G,)
    const float* group_half_norms;   // (G,)
    const std::uint32_t* starts;     // (G + 1,) children of group g: starts[g] .. starts[g + 1]

    CentroidRows all_groups() const { return {group_rows, group_scales, group_half_norms, groups, 0}; }
    CentroidRows children(std::size_t group) const {
        const std::size_t first = starts[group];
        return {rows + first * width, scales + first, half_norms + first, starts[group + 1] - first, starts[group]};
    }
};

// The direction that all vectors share. Vectors are stored without their mean and stretched along it; queries shrink by as much,
// so that query . vector = balanced query . balanced vector + query . mean.
struct SharedDirection {
    const float* mean;  // (d,)
    const float* axis;  // (d,) the mean at unit length, or zeros
    float stretch;
};

// row (d) of a vector, in place.
void balance_vector(const Kernels& kernels, const SharedDirection& shared, std::size_t d, float* row);

// row (d) of a query, in place; returns its inner product with the mean.
float balance_query(const Kernels& kernels, const SharedDirection& shared, std::size_t d, float* row);

// Vectors as signed bytes: value = scale * byte.
struct SignedRows {
    std::size_t count;
    std::size_t width;
    const std::int8_t* bytes;   // (count, width)
    const float* scales;        // (count,)
    const std::int32_t* sums;   // (count,) of a row's bytes

    const std::int8_t* row(std::size_t i) const { return bytes + i * width; }
};

// Which groups a vector is compared with: the nearest, and those whose squared distance is at most `reach` times that of
// the nearest; at most `most` of them.
struct Shortlist {
    std::size_t most;
    float reach;
};

// Rows -> nearest centroid of each (Euclidean) in the groups of its shortlist.
void assign(const Kernels& kernels, const CentroidTree& tree, const SignedRows& rows, const Shortlist& shortlist,
            std::size_t threads, std::uint32_t* nearest);

// Sums (K, d) and counts (K,) of the rows assigned to each centroid.
void sum_by_centroid(const Kernels& kernels, const SignedRows& rows, std::size_t d, const std::uint32_t* nearest,
                     std::size_t centroids, std::size_t threads, double* sums, std::int64_t* counts);

// cutoffs (2^bits - 1,), ascending.
ResidualCoder residual_coder(std::size_t dimensions, std::size_t width, const CodeFormat& format, float zero, const float* cutoffs);

// Rows (n, d) and their centroids -> packed codes (n, row_bytes) and token scales (n,).
void encode(const Kernels& kernels, const ResidualCoder& coder, const CentroidTree& tree, const float* rows, std::size_t n,
            const std::uint32_t* nearest, std::size_t threads, std::uint8_t* codes, float* scales);

// Tokens by centroid: for each token of each list its document, and its place within the document.
struct InvertedLists {
    std::vector<std::int64_t> starts;      // (K + 1,)
    std::vector<std::uint32_t> documents;  // (tokens,), ascending within a list
    std::vector<std::uint32_t> places;     // (tokens,)
};
InvertedLists invert(const std::uint32_t* nearest, const std::int64_t* offsets, std::size_t documents, std::size_t centroids);

}  // namespace asterism
