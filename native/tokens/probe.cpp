// Which centroids are nearest to each query token.
#include "tokens/engine.hpp"

#include <algorithm>
#include <limits>

namespace asterism {
namespace {

constexpr std::size_t kBlock = 64;  // centroids scored before the best are selected, while still in cache

void keep_first(std::vector<Probe>& probes, std::size_t count) {
    if (probes.size() <= count) return;
    std::nth_element(probes.begin(), probes.begin() + static_cast<std::ptrdiff_t>(count) - 1, probes.end(), nearer);
    probes.resize(count);
}

// The best `count` of each column of a table that arrives block by block, in ascending order of rows.
class BestOfColumns {
public:
    BestOfColumns(std::size_t columns, std::size_t count)
        : count_(count), best_(columns), thresholds_(columns, -std::numeric_limits<float>::infinity()), found_(columns * kBlock) {}

    void look_at(const Kernels& kernels, const float* scores, std::size_t rows, std::size_t first_row) {
        const std::size_t columns = best_.size();
        const std::size_t found = kernels.above(scores, rows, columns, thresholds_.data(), found_.data());
        for (std::size_t i = 0; i < found; ++i) {
            const std::size_t row = found_[i] / columns;
            const std::size_t column = found_[i] % columns;
            auto& best = best_[column];
            best.push_back({scores[found_[i]], static_cast<std::uint32_t>(first_row + row)});
            if (best.size() >= 2 * count_) {
                keep_first(best, count_);
                thresholds_[column] = best.back().score;  // nth_element puts the worst of the kept ones there
            }
        }
    }

    std::vector<std::vector<Probe>>& best() { return best_; }

private:
    std::size_t count_;
    std::vector<std::vector<Probe>> best_;
    std::vector<float> thresholds_;
    std::vector<std::uint32_t> found_;
};

}  // namespace

Probes TokenEngine::probe(const PreparedQuery& query, std::size_t probes, Team& team, Workspace& workspace) const {
    const QueryLevels levels = query.levels();
    std::vector<float>& table = workspace.table;
    workspace.asked.clear();  // until the table is complete
    const std::size_t rows = codec_.centroids + 1;
    const std::size_t count = std::min(probes, codec_.centroids);
    Probes chosen(query.count);
    table.resize(rows * query.padded);
    std::vector<BestOfColumns> best(team.size(), BestOfColumns(query.padded, count));

    team.run([&](std::size_t rank) {
        const Range mine = part_of(rows, rank, team.size(), kBlock);
        for (std::size_t row = mine.begin; row < mine.end; row += kBlock) {
            const std::size_t n = std::min(kBlock, mine.end - row);
            float* scores = table.data() + row * query.padded;
            kernels_.centroid_scores(codec_.centroid_rows + row * codec_.width, codec_.centroid_scales + row, n, levels, scores);
            best[rank].look_at(kernels_, scores, std::min(n, codec_.centroids - row), row);
        }
    });

    for (std::size_t j = 0; j < query.count; ++j) {
        auto& merged = chosen[j];
        for (auto& part : best) merged.insert(merged.end(), part.best()[j].begin(), part.best()[j].end());
        keep_first(merged, count);
        require(merged.size() == count, "a centroid's score is no number");
        std::sort(merged.begin(), merged.end(), nearer);
    }
    workspace.asked.assign(query.tokens, query.tokens + query.count * codec_.dimensions);
    workspace.scored.clear();
    return chosen;
}

// Computes the rows of the table that these documents' tokens need: a few hundred documents use only some centroids.
// Rows from a search for the same query are reused.
void TokenEngine::score_centroids_of(const PreparedQuery& query, const Documents& documents, Workspace& workspace) const {
    const QueryLevels levels = query.levels();
    std::vector<float>& table = workspace.table;
    std::vector<bool>& scored = workspace.scored;
    const std::size_t size = query.count * codec_.dimensions;
    const bool known = workspace.asked.size() == size && std::equal(query.tokens, query.tokens + size, workspace.asked.begin());
    if (known && scored.empty()) return;
    if (!known) {
        workspace.asked.assign(query.tokens, query.tokens + size);
        table.resize((codec_.centroids + 1) * query.padded);
        scored.assign(codec_.centroids, false);
    }
    for (const std::uint32_t document : documents) {
        const Segment& segment = segment_of(document);
        if (segment.fine) continue;  // compared without centroids
        const Range range = segment.tokens_of(document - segment.first_document);
        for (std::size_t token = range.begin; token < range.end; ++token) {
            const std::size_t centroid = segment.centroids[token];
            if (centroid >= codec_.centroids) throw DamagedIndex("a token names a centroid that does not exist");
            if (scored[centroid]) continue;
            scored[centroid] = true;
            kernels_.centroid_scores(codec_.centroid_rows + centroid * codec_.width, codec_.centroid_scales + centroid, 1, levels,
                                     table.data() + centroid * query.padded);
        }
    }
}

}  // namespace asterism
