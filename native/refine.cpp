// MaxSim over all tokens of the given documents.
#include "token_engine.hpp"

#include <algorithm>

namespace asterism {

std::vector<Hit> TokenEngine::refine(Query& query, const Documents& documents, std::size_t keep, bool fine) {
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
                kernels_.maxsim_codes(tokens, codec_.format, levels, query.probing.table.data(), best.data());
            }
            float total = 0.0f;
            for (std::size_t j = 0; j < prepared.count; ++j) total += best[j];
            hits[i] = {total, documents[i]};
        }
    });
    keep_best(hits, keep);
    return hits;
}

}  // namespace asterism
