#include "codec.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace asterism {
namespace {

constexpr std::size_t kBatch = 1024;  // vectors whose shortlists are worked off together

// Vectors as signed bytes, any eight of which can be compared with centroids.
class SignedBatch {
public:
    SignedBatch(const Kernels& kernels, std::size_t width)
        : kernels_(kernels), width_(width), bytes_(kBatch * width), scales_(kBatch), offsets_(kBatch), eight_(kQueryGroup * width) {}

    void load(const float* rows, std::size_t n, std::size_t d) {
        for (std::size_t i = 0; i < n; ++i) {
            std::int32_t sum = 0;
            kernels_.to_signed_bytes(rows + i * d, d, width_, bytes_.data() + i * width_, &scales_[i], &sum);
            offsets_[i] = kCentroidZero * static_cast<float>(sum);
        }
    }

    // The vectors `members` (at most eight; the last is repeated).
    QueryLevels gathered(const std::uint32_t* members, std::size_t count) {
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            const std::size_t i = members[std::min(j, count - 1)];
            std::memcpy(eight_.data() + j * width_, bytes_.data() + i * width_, width_);
            eight_scales_[j] = scales_[i];
            eight_offsets_[j] = offsets_[i];
        }
        return {kQueryGroup, width_, eight_.data(), eight_scales_, eight_offsets_, eight_offsets_};
    }

private:
    const Kernels& kernels_;
    std::size_t width_;
    std::vector<std::int8_t> bytes_;
    std::vector<float> scales_, offsets_;
    std::vector<std::int8_t> eight_;
    float eight_scales_[kQueryGroup] = {};
    float eight_offsets_[kQueryGroup] = {};
};

// The `shortlist` nearest groups of each vector of a batch, turned round: the vectors that look into each group.
class Shortlists {
public:
    Shortlists(const Kernels& kernels, const CentroidTree& tree, std::size_t shortlist)
        : kernels_(kernels), tree_(tree), shortlist_(std::min(shortlist, tree.groups)), visitors_(tree.groups),
          scores_(tree.groups * kQueryGroup) {}

    const std::vector<std::vector<std::uint32_t>>& visitors(SignedBatch& batch, std::size_t n) {
        for (auto& visitors : visitors_) visitors.clear();
        std::uint32_t members[kQueryGroup];
        for (std::size_t start = 0; start < n; start += kQueryGroup) {
            const std::size_t count = std::min(kQueryGroup, n - start);
            for (std::size_t j = 0; j < count; ++j) members[j] = static_cast<std::uint32_t>(start + j);
            kernels_.centroid_scores(tree_.group_rows, tree_.group_scales, tree_.groups, batch.gathered(members, count),
                                     scores_.data());
            for (std::size_t j = 0; j < count; ++j) choose(members[j], j);
        }
        return visitors_;
    }

private:
    void choose(std::uint32_t member, std::size_t column) {
        best_.clear();
        for (std::size_t group = 0; group < tree_.groups; ++group) {
            const float close = scores_[group * kQueryGroup + column] - tree_.group_half_norms[group];
            if (best_.size() == shortlist_ && close <= best_.back().first) continue;
            if (best_.size() == shortlist_) best_.pop_back();
            auto at = best_.end();
            while (at != best_.begin() && close > std::prev(at)->first) --at;
            best_.insert(at, {close, group});
        }
        for (const auto& [close, group] : best_) visitors_[group].push_back(member);
    }

    const Kernels& kernels_;
    const CentroidTree& tree_;
    std::size_t shortlist_;
    std::vector<std::vector<std::uint32_t>> visitors_;
    std::vector<float> scores_;
    std::vector<std::pair<float, std::size_t>> best_;  // best first
};

}  // namespace

// Group by group, so that a group's centroids stay in the first-level cache while all its visitors look at them.
void assign(const Kernels& kernels, const CentroidTree& tree, const float* rows, std::size_t n, std::size_t d,
            std::size_t shortlist, std::size_t threads, std::uint32_t* nearest) {
    Team team(threads);
    team.run([&](std::size_t rank) {
        const Range mine = part_of(n, rank, team.size());
        SignedBatch batch(kernels, tree.width);
        Shortlists shortlists(kernels, tree, shortlist);
        std::vector<float> closeness(kBatch);
        for (std::size_t start = mine.begin; start < mine.end; start += kBatch) {
            const std::size_t count = std::min(kBatch, mine.end - start);
            batch.load(rows + start * d, count, d);
            std::fill(closeness.begin(), closeness.end(), -std::numeric_limits<float>::infinity());
            std::fill(nearest + start, nearest + start + count, 0);
            const auto& visitors = shortlists.visitors(batch, count);
            for (std::size_t group = 0; group < tree.groups; ++group) {  // ascending: ties go to the smaller centroid
                const std::size_t first = tree.starts[group];
                const std::size_t children = tree.starts[group + 1] - first;
                for (std::size_t v = 0; v < visitors[group].size(); v += kQueryGroup) {
                    const std::uint32_t* members = visitors[group].data() + v;
                    const std::size_t present = std::min(kQueryGroup, visitors[group].size() - v);
                    float close[kQueryGroup] = {};
                    std::uint32_t chosen[kQueryGroup] = {};
                    for (std::size_t j = 0; j < present; ++j) {
                        close[j] = closeness[members[j]];
                        chosen[j] = nearest[start + members[j]];
                    }
                    kernels.nearest(tree.rows + first * tree.width, tree.scales + first, tree.half_norms + first, children,
                                    static_cast<std::uint32_t>(first), batch.gathered(members, present), close, chosen);
                    for (std::size_t j = 0; j < present; ++j) {
                        closeness[members[j]] = close[j];
                        nearest[start + members[j]] = chosen[j];
                    }
                }
            }
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
