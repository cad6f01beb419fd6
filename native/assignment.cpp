// Which centroid each vector belongs to, and the means of those that do: the rounds of k-means.
#include "codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace asterism {
namespace {

constexpr std::size_t kBatch = 2048;  // vectors whose shortlists are worked off together

// Vectors as signed bytes, any eight of which can be compared with centroids.
class SignedBatch {
public:
    SignedBatch(const Kernels& kernels, std::size_t width)
        : kernels_(kernels), width_(width), bytes_(kBatch * width), scales_(kBatch), offsets_(kBatch), quads_(kQueryGroup * width) {}

    void load(const float* rows, std::size_t n, std::size_t d) {
        for (std::size_t i = 0; i < n; ++i) {
            std::int32_t sum = 0;
            kernels_.to_signed_bytes(rows + i * d, d, width_, bytes_.data() + i * width_, &scales_[i], &sum);
            offsets_[i] = kCentroidZero * static_cast<float>(sum);
        }
    }

    // The vectors `members` (at most eight; the last is repeated).
    EightVectors side_by_side(const std::uint32_t* members, std::size_t count) {
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            const std::size_t i = members[std::min(j, count - 1)];
            const std::int8_t* bytes = bytes_.data() + i * width_;
            for (std::size_t k = 0; k < width_; k += 4) std::memcpy(quads_.data() + k * kQueryGroup + j * 4, bytes + k, 4);
            eight_scales_[j] = scales_[i];
            eight_offsets_[j] = offsets_[i];
        }
        return {width_, quads_.data(), eight_scales_, eight_offsets_};
    }

    // |x|^2 of vector i; a sum of integers, so that every instruction set rounds alike.
    float energy(std::size_t i) const {
        const std::int8_t* bytes = bytes_.data() + i * width_;
        const std::int32_t sum = std::inner_product(bytes, bytes + width_, bytes, std::int32_t{0});
        return scales_[i] * scales_[i] * static_cast<float>(sum);
    }

private:
    const Kernels& kernels_;
    std::size_t width_;
    std::vector<std::int8_t> bytes_;
    std::vector<float> scales_, offsets_;
    std::vector<std::int8_t> quads_;
    float eight_scales_[kQueryGroup] = {};
    float eight_offsets_[kQueryGroup] = {};
};

// The shortlists of a batch, turned round: the vectors that look into each group.
class Visitors {
public:
    Visitors(const Kernels& kernels, const CentroidTree& tree, const Shortlist& shortlist)
        : kernels_(kernels), tree_(tree), shortlist_(shortlist), of_group_(tree.groups), close_(tree.groups * kQueryGroup),
          positions_(tree.groups * kQueryGroup) {}

    const std::vector<std::vector<std::uint32_t>>& find(SignedBatch& batch, std::size_t n) {
        for (auto& visitors : of_group_) visitors.clear();
        for (std::size_t start = 0; start < n; start += kQueryGroup) choose(batch, start, std::min(kQueryGroup, n - start));
        return of_group_;
    }

private:
    void choose(SignedBatch& batch, std::size_t start, std::size_t count) {
        std::uint32_t members[kQueryGroup] = {};
        for (std::size_t j = 0; j < count; ++j) members[j] = static_cast<std::uint32_t>(start + j);
        kernels_.closeness(tree_.all_groups(), batch.side_by_side(members, count), close_.data());
        float closest[kQueryGroup];
        std::copy(close_.begin(), close_.begin() + kQueryGroup, closest);
        for (std::size_t at = 0; at < close_.size(); at += kQueryGroup) {
            for (std::size_t j = 0; j < kQueryGroup; ++j) closest[j] = std::max(closest[j], close_[at + j]);
        }
        float least[kQueryGroup];
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            least[j] = std::numeric_limits<float>::infinity();
            if (j < count) least[j] = within_reach(closest[j], batch.energy(members[j]));
        }
        for (auto& groups : chosen_) groups.clear();
        const std::size_t found = kernels_.above(close_.data(), tree_.groups, kQueryGroup, least, positions_.data());
        for (std::size_t i = 0; i < found; ++i) {
            const std::uint32_t position = positions_[i];
            chosen_[position % kQueryGroup].push_back({close_[position], position / kQueryGroup});
        }
        for (std::size_t j = 0; j < count; ++j) {
            keep_closest(chosen_[j]);
            for (const auto& [close, group] : chosen_[j]) of_group_[group].push_back(members[j]);
        }
    }

    // The closeness that a group must exceed. |x - g|^2 is |x|^2 - 2 closeness.
    float within_reach(float closest, float energy) const {
        const float slack = 0.5f * (shortlist_.reach - 1.0f) * std::max(energy - 2.0f * closest, 0.0f);
        return std::min(closest - slack, std::nextafter(closest, -std::numeric_limits<float>::infinity()));
    }

    void keep_closest(std::vector<std::pair<float, std::uint32_t>>& groups) const {
        if (groups.size() <= shortlist_.most) return;
        const auto closer = [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; };
        const auto last = groups.begin() + static_cast<std::ptrdiff_t>(shortlist_.most);
        std::nth_element(groups.begin(), last, groups.end(), closer);
        groups.resize(shortlist_.most);
    }

    const Kernels& kernels_;
    const CentroidTree& tree_;
    Shortlist shortlist_;
    std::vector<std::vector<std::uint32_t>> of_group_;
    std::vector<float> close_;                                         // (groups, 8)
    std::vector<std::uint32_t> positions_;                             // in close_
    std::vector<std::pair<float, std::uint32_t>> chosen_[kQueryGroup];  // closeness, group
};

}  // namespace

// Group by group, so that a group's centroids stay in the first-level cache while all its visitors look at them.
void assign(const Kernels& kernels, const CentroidTree& tree, const float* rows, std::size_t n, std::size_t d,
            const Shortlist& shortlist, std::size_t threads, std::uint32_t* nearest) {
    Team team(threads);
    team.run([&](std::size_t rank) {
        const Range mine = part_of(n, rank, team.size());
        SignedBatch batch(kernels, tree.width);
        Visitors visitors(kernels, tree, shortlist);
        std::vector<float> closest(kBatch);
        for (std::size_t start = mine.begin; start < mine.end; start += kBatch) {
            const std::size_t count = std::min(kBatch, mine.end - start);
            batch.load(rows + start * d, count, d);
            std::fill(closest.begin(), closest.end(), -std::numeric_limits<float>::infinity());
            std::fill(nearest + start, nearest + start + count, 0);
            const auto& of_group = visitors.find(batch, count);
            for (std::size_t group = 0; group < tree.groups; ++group) {  // ascending: ties go to the smaller centroid
                for (std::size_t v = 0; v < of_group[group].size(); v += kQueryGroup) {
                    const std::uint32_t* members = of_group[group].data() + v;
                    const std::size_t present = std::min(kQueryGroup, of_group[group].size() - v);
                    float close[kQueryGroup] = {};
                    std::uint32_t chosen[kQueryGroup] = {};
                    for (std::size_t j = 0; j < present; ++j) {
                        close[j] = closest[members[j]];
                        chosen[j] = nearest[start + members[j]];
                    }
                    kernels.nearest(tree.children(group), batch.side_by_side(members, present), close, chosen);
                    for (std::size_t j = 0; j < present; ++j) {
                        closest[members[j]] = close[j];
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

}  // namespace asterism
