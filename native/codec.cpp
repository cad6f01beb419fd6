#include "codec.hpp"

#include <algorithm>
#include <limits>

namespace asterism {
namespace {

// A vector as signed bytes, and the distances of levels to it.
class Neighbours {
public:
    Neighbours(const Kernels& kernels, std::size_t width) : kernels_(kernels), bytes_(width) {}

    void look_from(const float* row, std::size_t d) {
        std::int32_t sum = 0;
        kernels_.to_signed_bytes(row, d, bytes_.size(), bytes_.data(), &scale_, &sum);
        offset_ = kCentroidZero * static_cast<float>(sum);
    }

    // closeness (n,): x.c - |c|^2 / 2, largest at the nearest.
    const float* closeness(const std::uint8_t* rows, const float* scales, const float* half_norms, std::size_t n) {
        dots_.resize(n);
        closeness_.resize(n);
        kernels_.dot_rows(rows, n, bytes_.data(), bytes_.size(), dots_.data());
        for (std::size_t j = 0; j < n; ++j) {
            closeness_[j] = (scales[j] * scale_) * (static_cast<float>(dots_[j]) - offset_) - half_norms[j];
        }
        return closeness_.data();
    }

private:
    const Kernels& kernels_;
    std::vector<std::int8_t> bytes_;
    std::vector<std::int32_t> dots_;
    std::vector<float> closeness_;
    float scale_ = 0.0f;
    float offset_ = 0.0f;
};

// Positions of the `count` largest of values (n,), ties by position.
void largest(const float* values, std::size_t n, std::size_t count, std::vector<std::uint32_t>& positions) {
    positions.resize(n);
    for (std::size_t j = 0; j < n; ++j) positions[j] = static_cast<std::uint32_t>(j);
    const auto before = [values](std::uint32_t a, std::uint32_t b) {
        return values[a] != values[b] ? values[a] > values[b] : a < b;
    };
    if (count < n) {
        std::nth_element(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(count), positions.end(), before);
        positions.resize(count);
    }
    std::sort(positions.begin(), positions.end());  // ascending ids: ties between children go to the smaller id
}

}  // namespace

void assign(const Kernels& kernels, const CentroidTree& tree, const float* rows, std::size_t n, std::size_t d,
            std::size_t shortlist, std::size_t threads, std::uint32_t* nearest) {
    Team team(threads);
    team.run([&](std::size_t rank) {
        const Range mine = part_of(n, rank, team.size());
        Neighbours neighbours(kernels, tree.width);
        std::vector<std::uint32_t> groups;
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            neighbours.look_from(rows + i * d, d);
            const float* near = neighbours.closeness(tree.group_rows, tree.group_scales, tree.group_half_norms, tree.groups);
            largest(near, tree.groups, shortlist, groups);
            float best = -std::numeric_limits<float>::infinity();
            std::uint32_t chosen = 0;
            for (const std::uint32_t group : groups) {
                const std::size_t start = tree.starts[group];
                const std::size_t children = tree.starts[group + 1] - start;
                const float* close = neighbours.closeness(tree.rows + start * tree.width, tree.scales + start,
                                                          tree.half_norms + start, children);
                for (std::size_t j = 0; j < children; ++j) {
                    if (close[j] > best) {
                        best = close[j];
                        chosen = static_cast<std::uint32_t>(start + j);
                    }
                }
            }
            nearest[i] = chosen;
        }
    });
}

void sum_by_centroid(const float* rows, std::size_t n, std::size_t d, const std::uint32_t* nearest, std::size_t centroids,
                     std::size_t threads, double* sums, std::int64_t* counts) {
    std::fill(sums, sums + centroids * d, 0.0);
    std::fill(counts, counts + centroids, 0);
    Team team(threads);
    team.run([&](std::size_t rank) {  // each rank owns some centroids, so that the order of additions never changes
        const Range mine = part_of(centroids, rank, team.size());
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t centroid = nearest[i];
            if (centroid < mine.begin || centroid >= mine.end) continue;
            ++counts[centroid];
            for (std::size_t j = 0; j < d; ++j) sums[centroid * d + j] += static_cast<double>(rows[i * d + j]);
        }
    });
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
