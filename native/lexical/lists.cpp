#include "lexical/lists.hpp"

#include <algorithm>

namespace asterism {

std::vector<TermList> lists_of(const LexicalSegment& segment, const LexicalQuery& query) {
    std::vector<TermList> lists;
    for (std::size_t i = 0; i < query.count; ++i) {
        const std::int64_t* last = segment.term_ids + segment.terms;
        const std::int64_t* found = std::lower_bound(segment.term_ids, last, query.terms[i]);
        if (found == last || *found != query.terms[i] || query.weights[i] == 0.0f) continue;
        const auto term = static_cast<std::size_t>(found - segment.term_ids);
        const std::int64_t begin = segment.starts[term];
        const std::int64_t end = segment.starts[term + 1];
        if (begin < 0 || begin > end || static_cast<std::size_t>(end) > segment.postings) {
            throw DamagedIndex("a term's list lies outside its segment");
        }
        if (begin == end) continue;
        const double largest = double{segment.largest[term]} * segment.highest;
        TermList list{static_cast<std::size_t>(begin), static_cast<std::size_t>(end), query.weights[i], largest, i, nullptr, nullptr};
        const std::uint32_t* past = segment.long_terms + segment.long_lists;
        const std::uint32_t* long_term = std::lower_bound(segment.long_terms, past, static_cast<std::uint32_t>(term));
        if (long_term != past && *long_term == term) {
            const auto row = static_cast<std::size_t>(long_term - segment.long_terms);
            list.row = segment.rows + row * segment.documents;
            list.ranks = segment.ranks + row * (segment.documents / kRanked + 1);
        }
        lists.push_back(list);
    }
    return lists;
}

std::size_t entry_of(const LexicalSegment& segment, const TermList& list, std::uint32_t document) {
    std::size_t begin = list.begin;
    std::size_t left = list.end - list.begin;
    if (list.ranks != nullptr) {
        const std::size_t skipped = list.ranks[document / kRanked];
        if (skipped > left) throw DamagedIndex("a long list's ranks do not belong to it");
        begin += skipped;
        left = std::min(left - skipped, kRanked);
    }
    // A branch-free binary search, so that the processor can start on the next document while this one waits for memory.
    const std::uint32_t* entry = segment.list + begin;
    if (left == 0) return kNoEntry;
    while (left > 1) {
        const std::size_t half = left / 2;
        entry += entry[half - 1] < document ? half : 0;
        left -= half;
    }
    return *entry == document ? static_cast<std::size_t>(entry - segment.list) : kNoEntry;
}

}  // namespace asterism
