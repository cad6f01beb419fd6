// The two steps of a k-means round: assign each vector to a centroid, and sum the vectors of each centroid.
#include "tokens/codec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace asterism {
namespace {

constexpr std::size_t kBatch = 2048;  // vectors whose shortlists are processed together

// Some of the vectors, eight at a time, as they are compared with centroids.
class SideBySide {
public:
    SideBySide(const Kernels& kernels, const SignedRows& rows) : kernels_(kernels), rows_(rows), quads_(kQueryGroup * rows.width) {}

    // The vectors `members` (at most eight; the last is repeated).
    EightVectors of(const std::uint32_t* members, std::size_t count) {
        const std::int8_t* eight[kQueryGroup];
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            const std::size_t i = members[std::min(j, count - 1)];
            eight[j] = rows_.row(i);
            scales_[j] = rows_.scales[i];
            offsets_[j] = kCentroidZero * static_cast<float>(rows_.sums[i]);
        }
        kernels_.side_by_side(eight, rows_.width, quads_.data());
        return {rows_.width, quads_.data(), scales_, offsets_};
    }

private:
    const Kernels& kernels_;
    const SignedRows& rows_;
    std::vector<std::int8_t> quads_;
    float scales_[kQueryGroup] = {};
    float offsets_[kQueryGroup] = {};
};

// |x|^2 of vector i; a sum of integers, so that every instruction set rounds in the same way.
float energy(const SignedRows& rows, std::size_t i) {
    const std::int8_t* bytes = rows.row(i);
    const std::int32_t sum = std::inner_product(bytes, bytes + rows.width, bytes, std::int32_t{0});
    return rows.scales[i] * rows.scales[i] * static_cast<float>(sum);
}

// The shortlists of a batch, inverted: for each group, the vectors that are compared with its centroids.
class Visitors {
public:
    Visitors(const Kernels& kernels, const CentroidTree& tree, const SignedRows& rows, const Shortlist& shortlist)
        : kernels_(kernels), tree_(tree), rows_(rows), shortlist_(shortlist), eight_(kernels, rows), of_group_(tree.groups),
          close_(tree.groups * kQueryGroup), positions_(tree.groups * kQueryGroup) {}

    const std::vector<std::vector<std::uint32_t>>& find(const Range& batch) {
        for (auto& visitors : of_group_) visitors.clear();
        if (tree_.groups == 1) {  // nothing to choose
            of_group_[0].resize(batch.end - batch.begin);
            std::iota(of_group_[0].begin(), of_group_[0].end(), static_cast<std::uint32_t>(batch.begin));
        } else {
            for (std::size_t i = batch.begin; i < batch.end; i += kQueryGroup) choose(i, std::min(kQueryGroup, batch.end - i));
        }
        return of_group_;
    }

private:
    void choose(std::size_t start, std::size_t count) {
        std::uint32_t members[kQueryGroup] = {};
        for (std::size_t j = 0; j < count; ++j) members[j] = static_cast<std::uint32_t>(start + j);
        float closest[kQueryGroup];
        kernels_.closeness(tree_.all_groups(), eight_.of(members, count), close_.data(), closest);
        float least[kQueryGroup];
        for (std::size_t j = 0; j < kQueryGroup; ++j) {
            least[j] = std::numeric_limits<float>::infinity();
            if (j < count) least[j] = within_reach(closest[j], energy(rows_, members[j]));
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
    const SignedRows& rows_;
    Shortlist shortlist_;
    SideBySide eight_;
    std::vector<std::vector<std::uint32_t>> of_group_;
    std::vector<float> close_;                                         // (groups, 8)
    std::vector<std::uint32_t> positions_;                             // in close_
    std::vector<std::pair<float, std::uint32_t>> chosen_[kQueryGroup];  // closeness, group
};

}  // namespace

// Group by group, so that a group's centroids stay in the first-level cache while all its vectors are compared.
void assign(const Kernels& kernels, const CentroidTree& tree, const SignedRows& rows, const Shortlist& shortlist,
            std::size_t threads, std::uint32_t* nearest) {
    Team team(threads);
    team.run([&](std::size_t rank) {
        const Range mine = part_of(rows.count, rank, team.size());
        SideBySide eight(kernels, rows);
        Visitors visitors(kernels, tree, rows, shortlist);
        std::vector<float> closest(kBatch);
        for (std::size_t start = mine.begin; start < mine.end; start += kBatch) {
            const Range batch{start, std::min(start + kBatch, mine.end)};
            std::fill(closest.begin(), closest.end(), -std::numeric_limits<float>::infinity());
            std::fill(nearest + batch.begin, nearest + batch.end, 0);
            const auto& of_group = visitors.find(batch);
            for (std::size_t group = 0; group < tree.groups; ++group) {  // ascending: ties go to the smaller centroid
                for (std::size_t v = 0; v < of_group[group].size(); v += kQueryGroup) {
                    const std::uint32_t* members = of_group[group].data() + v;
                    const std::size_t present = std::min(kQueryGroup, of_group[group].size() - v);
                    float close[kQueryGroup] = {};
                    std::uint32_t chosen[kQueryGroup] = {};
                    for (std::size_t j = 0; j < present; ++j) {
                        close[j] = closest[members[j] - start];
                        chosen[j] = nearest[members[j]];
                    }
                    kernels.nearest(tree.children(group), eight.of(members, present), close, chosen);
                    for (std::size_t j = 0; j < present; ++j) {
                        closest[members[j] - start] = close[j];
                        nearest[members[j]] = chosen[j];
                    }
                }
            }
        }
    });
}

void sum_by_centroid(const Kernels& kernels, const SignedRows& rows, std::size_t d, const std::uint32_t* nearest,
                     std::size_t centroids, std::size_t threads, double* sums, std::int64_t* counts) {
    std::fill(sums, sums + centroids * d, 0.0);
    std::fill(counts, counts + centroids, 0);
    Team team(threads);
    team.run([&](std::size_t rank) {  // each rank owns some centroids, so that the order of additions never changes
        const Range mine = part_of(centroids, rank, team.size());
        for (std::size_t i = 0; i < rows.count; ++i) {
            const std::size_t centroid = nearest[i];
            if (centroid < mine.begin || centroid >= mine.end) continue;
            ++counts[centroid];
            kernels.add_signed(rows.row(i), rows.scales[i], d, sums + centroid * d);
        }
    });
}

}  // namespace asterism
