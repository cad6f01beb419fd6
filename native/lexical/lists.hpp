// A query's lists in a segment, and documents looked up in them.
#pragma once

#include "lexical/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asterism {

// One query term's list.
struct TermList {
    std::size_t begin;
    std::size_t end;
    float weight;                // of the query
    double largest;              // no weight in the list is larger
    std::size_t place;           // among the query's terms
    const std::uint8_t* row;     // of a long list, else nullptr
    const std::uint32_t* ranks;
};

// Those that are not empty, in the order of the query; each lies within its segment.
std::vector<TermList> lists_of(const LexicalSegment& segment, const LexicalQuery& query);

inline constexpr std::size_t kNoEntry = static_cast<std::size_t>(-1);

// The document's posting in the list, kNoEntry if it has none.
std::size_t entry_of(const LexicalSegment& segment, const TermList& list, std::uint32_t document);

}  // namespace asterism
