// MaxSim over all tokens of documents, and the choice of how many documents to refine.
#include "tokens/engine.hpp"

#include <algorithm>
#include <cmath>

namespace asterism {
namespace {

constexpr std::size_t kStep = 32;   // documents refined between two checks whether to stop
constexpr std::size_t kLeast = 64;  // documents refined before the first check

// Running mean and standard deviation of what refinement adds to an estimate.
class Additions {
public:
    void add(double gain) {
        ++count_;
        sum_ += gain;
        squares_ += gain * gain;
    }
    double mean() const { return sum_ / count_; }
    double deviation() const { return std::sqrt(std::max(0.0, squares_ / count_ - mean() * mean())); }

private:
    double count_ = 0.0;
    double sum_ = 0.0;
    double squares_ = 0.0;
};

}  // namespace

std::vector<Hit> TokenEngine::maxsim(Query& query, const Documents& documents, bool fine) {
    const PreparedQuery& prepared = query.prepared;
    const QueryLevels levels = prepared.levels();
    std::vector<Hit> hits(documents.size());
    query.team.run([&](std::size_t rank) {
        const Range mine = part_of(documents.size(), rank, query.team.size());
        std::vector<float> best(prepared.padded);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            if (i + 1 < mine.end) {
                const Segment& later = segment_of(documents[i + 1]);
                const Range next = later.tokens_of(documents[i + 1] - later.first_document);
                prefetch(later.codes + next.begin * stored_bytes(), (next.end - next.begin) * stored_bytes());
            }
            const Segment& segment = segment_of(documents[i]);
            const Range range = segment.tokens_of(documents[i] - segment.first_document);
            const std::size_t n = range.end - range.begin;
            const std::size_t first = range.begin * codec_.dimensions;
            if (fine && segment.fine) {
                kernels_.maxsim_float16(segment.fine + first, n, prepared.tokens, prepared.count, codec_.dimensions, best.data());
            } else if (codec_.bits == 16) {
                kernels_.maxsim_float16(reinterpret_cast<const std::uint16_t*>(segment.codes) + first, n, prepared.tokens,
                                        prepared.count, codec_.dimensions, best.data());
            } else if (codec_.bits == 32) {
                kernels_.maxsim_float32(reinterpret_cast<const float*>(segment.codes) + first, n, prepared.tokens, prepared.count,
                                        codec_.dimensions, best.data());
            } else {
                const CodeRows tokens{n, segment.centroids + range.begin, segment.scales + range.begin,
                                      segment.codes + range.begin * codec_.format.row_bytes};
                for (std::size_t t = 0; t < n; ++t) {
                    if (tokens.centroids[t] >= codec_.centroids) throw DamagedIndex("a token names a centroid that does not exist");
                }
                kernels_.maxsim_codes(tokens, codec_.format, levels, query.workspace.table.data(), best.data());
            }
            float total = 0.0f;
            for (std::size_t j = 0; j < prepared.count; ++j) total += best[j];
            require(n == 0 || std::isfinite(total), "a document's score is no number");
            hits[i] = {total - query.penalty(n), documents[i]};
        }
    });
    return hits;
}

// Best estimates first, until the next document's estimate, plus the mean gain, plus `confidence` standard deviations of
// it, is below the score of the last place: easy queries stop early, hard ones continue.
std::vector<Hit> TokenEngine::refine(Query& query, const std::vector<Hit>& estimated, std::size_t keep) {
    std::vector<Hit> hits;
    Additions additions;
    for (std::size_t done = 0; done < estimated.size();) {
        const std::size_t count = std::min(done == 0 ? kLeast : kStep, estimated.size() - done);
        Documents next(count);
        for (std::size_t i = 0; i < count; ++i) next[i] = estimated[done + i].document;
        const std::vector<Hit> scored = maxsim(query, next, false);
        for (std::size_t i = 0; i < count; ++i) {
            additions.add(static_cast<double>(scored[i].score) - static_cast<double>(estimated[done + i].score));
        }
        hits.insert(hits.end(), scored.begin(), scored.end());
        done += count;
        if (done == estimated.size() || hits.size() < keep) continue;
        const auto last = hits.begin() + static_cast<std::ptrdiff_t>(keep) - 1;
        std::nth_element(hits.begin(), last, hits.end(), before);
        const double hoped = static_cast<double>(estimated[done].score) + additions.mean() + query.settings.confidence * additions.deviation();
        if (hoped < static_cast<double>(last->score)) break;
    }
    keep_best(hits, keep);
    return hits;
}

}  // namespace asterism
