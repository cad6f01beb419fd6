#include "tokens/codec.hpp"

#include <algorithm>
#include <cmath>

namespace asterism {

void balance_vector(const Kernels& kernels, const SharedDirection& shared, std::size_t d, float* row) {
    kernels.balance(row, d, shared.mean, shared.axis, shared.stretch - 1.0f);
}

float balance_query(const Kernels& kernels, const SharedDirection& shared, std::size_t d, float* row) {
    float with_mean = 0.0f;
    kernels.maxsim_float32(row, 1, shared.mean, 1, d, &with_mean);  // of one token and one query token: their inner product
    kernels.balance(row, d, nullptr, shared.axis, 1.0f / shared.stretch - 1.0f);
    return with_mean;
}

ResidualCoder residual_coder(std::size_t dimensions, std::size_t width, const CodeFormat& format, float zero, const float* cutoffs) {
    const std::size_t count = (std::size_t{1} << format.bits) - 1;
    const float largest = std::max({std::fabs(cutoffs[0]), std::fabs(cutoffs[count - 1]), 1e-6f});
    ResidualCoder coder{dimensions, width, format, zero, 16384.0f / largest, {}};
    for (std::size_t i = 0; i < count; ++i) coder.cutoffs[i] = static_cast<std::int16_t>(std::nearbyint(cutoffs[i] * coder.fineness));
    return coder;
}

void encode(const Kernels& kernels, const ResidualCoder& coder, const CentroidTree& tree, const float* rows, std::size_t n,
            const std::uint32_t* nearest, std::size_t threads, std::uint8_t* codes, float* scales) {
    Team team(threads);
    team.run([&](std::size_t rank) {
        const Range mine = part_of(n, rank, team.size());
        std::vector<float> scratch(3 * coder.width);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            const std::size_t centroid = nearest[i];
            scales[i] = kernels.encode_residual(rows + i * coder.dimensions, coder, tree.rows + centroid * tree.width,
                                                tree.scales[centroid], scratch.data(), codes + i * coder.format.row_bytes);
        }
    });
}

InvertedLists invert(const std::uint32_t* nearest, const std::int64_t* offsets, std::size_t documents, std::size_t centroids) {
    const auto tokens = static_cast<std::size_t>(offsets[documents]);
    InvertedLists lists{std::vector<std::int64_t>(centroids + 1), std::vector<std::uint32_t>(tokens),
                        std::vector<std::uint32_t>(tokens)};
    for (std::size_t t = 0; t < tokens; ++t) ++lists.starts[nearest[t] + 1];
    for (std::size_t c = 0; c < centroids; ++c) lists.starts[c + 1] += lists.starts[c];
    std::vector<std::int64_t> next(lists.starts.begin(), lists.starts.end() - 1);
    for (std::size_t document = 0; document < documents; ++document) {
        for (std::int64_t t = offsets[document]; t < offsets[document + 1]; ++t) {
            const auto entry = static_cast<std::size_t>(next[nearest[t]]++);
            lists.documents[entry] = static_cast<std::uint32_t>(document);
            lists.places[entry] = static_cast<std::uint32_t>(t - offsets[document]);
        }
    }
    return lists;
}

}  // namespace asterism
