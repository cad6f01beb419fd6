// The first half of a lexical search: which documents may be among the best.
#pragma once

#include "kernels/kernels.hpp"
#include "lexical/lists.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asterism {

struct Candidate {
    std::uint32_t document;
    std::uint16_t bound;
};

// Ascending documents: those of the k best whose score is at least `floor`, and few others.
std::vector<Candidate> candidates_of(const Kernels& kernels, const LexicalSegment& segment, const std::vector<TermList>& lists,
                                     std::size_t k, float floor, const std::uint8_t* wanted);

}  // namespace asterism
