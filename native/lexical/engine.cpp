#include "lexical/engine.hpp"

#include "lexical/bounds.hpp"
#include "lexical/lists.hpp"
#include "lexical/weights.hpp"

#include <algorithm>
#include <cmath>

namespace asterism {
namespace {

// (candidates,) the scores, each summed in the order of the query's terms, as in every other function that scores.
std::vector<float> exact_scores(const LexicalSegment& segment, const std::vector<TermList>& lists,
                                const std::vector<Candidate>& candidates) {
    std::vector<float> scores(candidates.size(), 0.0f);
    with_weights(segment, [&](const auto& weight_of) {
        for (const TermList& list : lists) {
            for (std::size_t i = 0; i < candidates.size(); ++i) {
                const std::uint32_t document = candidates[i].document;
                const std::size_t entry = entry_of(segment, list, document);
                if (entry != kNoEntry) scores[i] += list.weight * weight_of(entry, document);
            }
        }
    });
    return scores;
}

}  // namespace

LexicalEngine::LexicalEngine(const Kernels& kernels, std::vector<LexicalSegment> segments)
    : kernels_(kernels), segments_(std::move(segments)) {
    for (const LexicalSegment& segment : segments_) documents_ += segment.documents;
}

std::vector<Hit> LexicalEngine::search(const LexicalQuery& query, std::size_t k, const std::uint8_t* eligible) const {
    std::vector<Hit> best;
    for (const LexicalSegment& segment : segments_) {
        const std::vector<TermList> lists = lists_of(segment, query);
        if (lists.empty()) continue;
        const float floor = best.size() == k ? best.back().score : 0.0f;
        const std::uint8_t* wanted = eligible ? eligible + segment.first_document : nullptr;
        const std::vector<Candidate> candidates = candidates_of(kernels_, segment, lists, std::min(k, documents_), floor, wanted);
        const std::vector<float> scores = exact_scores(segment, lists, candidates);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (!std::isfinite(scores[i])) throw DamagedIndex("a weight is no number");
            const auto document = static_cast<std::uint32_t>(segment.first_document + candidates[i].document);
            if (scores[i] > 0.0f) best.push_back({scores[i], document});
        }
        keep_best(best, k);
    }
    return best;
}

std::vector<float> LexicalEngine::weights_of(const std::int64_t* terms, std::size_t count, const std::int64_t* documents,
                                             std::size_t n) const {
    const std::vector<float> ones(count, 1.0f);
    std::vector<float> weights(n * count, 0.0f);
    for (const LexicalSegment& segment : segments_) {
        with_weights(segment, [&](const auto& weight_of) {
            for (const TermList& list : lists_of(segment, {terms, ones.data(), count})) {
                for (std::size_t i = 0; i < n; ++i) {
                    const std::size_t document = static_cast<std::size_t>(documents[i]) - segment.first_document;
                    if (document >= segment.documents) continue;
                    const std::size_t entry = entry_of(segment, list, static_cast<std::uint32_t>(document));
                    if (entry != kNoEntry) weights[i * count + list.place] = weight_of(entry, document);
                }
            }
        });
    }
    return weights;
}

}  // namespace asterism
