// XTR: documents are scored by the tokens that were retrieved; what was not retrieved is imputed.
#include "tokens/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace asterism {
namespace {

constexpr std::size_t kAhead = 8;  // tokens prefetched
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// What one query token retrieved: its best similarity in each document, and the imputed one for the others.
struct Retrieved {
    std::vector<Hit> documents;
    float imputed = 0.0f;
};

}  // namespace

std::vector<Hit> TokenEngine::retrieve_tokens(Query& query, std::vector<float>& imputed_by_token) {
    const PreparedQuery& prepared = query.prepared;
    const QueryLevels levels = prepared.levels();
    const SearchSettings& settings = query.settings;
    std::vector<Retrieved> retrieved(prepared.count);
    query.workspace.best.resize(std::max(query.workspace.best.size(), query.team.size()));

    query.team.run([&](std::size_t rank) {
        auto& best = query.workspace.best[rank];
        best.resize(documents_, kNothing);
        std::vector<float> similarities;
        for (std::size_t j = rank; j < prepared.count; j += query.team.size()) {
            const auto& probes = query.probes[j];
            auto& found = retrieved[j].documents;
            similarities.clear();
            const std::size_t lists = std::min(settings.probes, probes.size());
            for (std::size_t p = 0; p < lists; ++p) {
                for (const Segment& segment : segments_) {
                    const Range list = segment.list_of(probes[p].centroid);
                    for (std::size_t entry = list.begin; entry < list.end; ++entry) {
                        if (entry + kAhead < list.end) {
                            const std::size_t later = segment.token_of(entry + kAhead);
                            __builtin_prefetch(segment.codes + later * stored_bytes());
                            if (segment.scales) __builtin_prefetch(segment.scales + later);
                        }
                        const std::size_t token = segment.token_of(entry);
                        const std::size_t document = segment.first_document + segment.list_documents[entry];
                        if (query.eligible && !query.eligible[document]) continue;
                        const float similarity = token_similarity(segment, token, prepared, levels, j, probes[p].score);
                        require(std::isfinite(similarity), "a token's similarity is no number");
                        similarities.push_back(similarity);
                        if (best[document] == kNothing) found.push_back({0.0f, static_cast<std::uint32_t>(document)});
                        best[document] = std::max(best[document], similarity);
                    }
                }
            }
            for (Hit& hit : found) {
                hit.score = best[hit.document];
                best[hit.document] = kNothing;
            }
            float imputed = 0.0f;
            if (settings.imputation == Imputation::kth && !similarities.empty()) {
                const std::size_t kth = std::min(settings.retrieved, similarities.size()) - 1;
                std::nth_element(similarities.begin(), similarities.begin() + static_cast<std::ptrdiff_t>(kth), similarities.end(),
                                 std::greater<>());
                imputed = similarities[kth];
                for (Hit& hit : found) hit.score = std::max(hit.score, imputed);  // below the k'-th: not retrieved
            } else if (settings.imputation == Imputation::cluster) {
                std::size_t tokens = 0;
                for (const Probe& probe : probes) {
                    imputed = probe.score;
                    tokens += list_tokens_[probe.centroid];
                    if (tokens >= settings.cluster_tokens) break;
                }
            }
            retrieved[j].imputed = imputed;
        }
    });

    // Sum over query tokens in order; the imputed ones between two retrieved ones come from prefix sums.
    std::vector<float> prefix(prepared.count + 1, 0.0f);
    for (std::size_t j = 0; j < prepared.count; ++j) prefix[j + 1] = prefix[j] + retrieved[j].imputed;
    imputed_by_token.clear();
    for (const Retrieved& one : retrieved) imputed_by_token.push_back(one.imputed);
    auto& sums = query.workspace.sums;
    sums.resize(documents_);
    Documents touched;
    for (std::size_t j = 0; j < prepared.count; ++j) {
        for (const Hit& hit : retrieved[j].documents) {
            Workspace::Sum& sum = sums[hit.document];
            if (sum.found == 0) touched.push_back(hit.document);
            if (sum.next < j) sum.total += prefix[j] - prefix[sum.next];
            sum.total += hit.score;
            sum.next = static_cast<std::uint32_t>(j + 1);
            ++sum.found;
        }
    }
    std::vector<Hit> hits;
    for (const std::uint32_t document : touched) {
        Workspace::Sum& sum = sums[document];
        if (sum.next < prepared.count) sum.total += prefix[prepared.count] - prefix[sum.next];
        if (settings.imputation == Imputation::none) {  // mean over the query tokens that found it, on the scale of a sum
            sum.total = sum.total / static_cast<float>(sum.found) * static_cast<float>(prepared.count);
        }
        hits.push_back({sum.total, document});
        sum = {};
    }
    if (settings.length_penalty != 0.0) {
        for (Hit& hit : hits) hit.score -= penalty_of(query, hit.document);
    }
    keep_best(hits, query.k);
    return hits;
}

std::size_t TokenEngine::stored_bytes() const {
    return codec_.bits < 16 ? codec_.format.row_bytes : codec_.dimensions * static_cast<std::size_t>(codec_.bits) / 8;
}

float TokenEngine::token_similarity(const Segment& segment, std::size_t token, const PreparedQuery& prepared,
                                    const QueryLevels& levels, std::size_t query_token, float centroid_score) const {
    const float* floats = prepared.tokens + query_token * codec_.dimensions;
    float similarity = 0.0f;
    if (codec_.bits == 16) {
        kernels_.maxsim_float16(reinterpret_cast<const std::uint16_t*>(segment.codes) + token * codec_.dimensions, 1, floats, 1,
                                codec_.dimensions, &similarity);
    } else if (codec_.bits == 32) {
        kernels_.maxsim_float32(reinterpret_cast<const float*>(segment.codes) + token * codec_.dimensions, 1, floats, 1,
                                codec_.dimensions, &similarity);
    } else {
        const CodeRows row{1, segment.centroids + token, segment.scales + token, segment.codes + token * codec_.format.row_bytes};
        similarity = kernels_.score_code(row, codec_.format, levels, query_token, centroid_score);
    }
    return similarity;
}

}  // namespace asterism
