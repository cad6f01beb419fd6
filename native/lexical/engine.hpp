// Exact search over weighted terms: the k documents with the largest sum of query weight times document weight.
//
// Most postings of a query lie in a few long lists. These are stored a second time, as a row of one byte per document: the
// weight, rounded up. A search first adds up, for every document, a bound in 16-bit integers: bytes of rows, which is
// one sweep through memory, and the postings of the short lists. It processes blocks of documents that fit in the
// first caches and keeps those whose bound is among the k largest, or so close that rounding may hide them. Only these,
// few more than k, are scored from the exact weights.
#pragma once

#include "shared/hits.hpp"
#include "kernels/kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asterism {

// Terms that occur have numbers 0..terms, in the order of `term_ids`.
struct LexicalSegment {
    std::size_t first_document;
    std::size_t documents;
    std::size_t terms;
    std::size_t postings;
    const std::int64_t* term_ids;     // (terms,) rising
    const std::int64_t* starts;       // (terms + 1,)
    const float* largest;             // (terms,) the largest weight of each list
    const std::uint32_t* list;        // (postings,) documents, rising within a list
    const float* weights;             // (postings,)
    std::size_t long_lists;
    const std::uint32_t* long_terms;  // (long_lists,) numbers of their terms, rising
    const std::uint8_t* rows;         // (long_lists, documents): 255 times the share of the largest weight, rounded up
    const std::uint32_t* ranks;       // (long_lists, documents / kRanked + 1): entries before every kRanked-th document
};

inline constexpr std::size_t kRanked = 64;

struct LexicalQuery {
    const std::int64_t* terms;  // (count,) different ones
    const float* weights;       // (count,) not negative
    std::size_t count;          // up to kLongestQuery
};

inline constexpr std::size_t kLongestQuery = 8192;  // so that rounding up each term leaves most of 16 bits

class LexicalEngine {
public:
    LexicalEngine(const Kernels& kernels, std::vector<LexicalSegment> segments);

    std::size_t documents() const { return documents_; }

    // Best first, only documents with a score above 0; eligible (documents,) of 0 and 1, or nullptr for all.
    std::vector<Hit> search(const LexicalQuery& query, std::size_t k, const std::uint8_t* eligible) const;

    // (n, count): the weight of each term in each document, 0 where it does not occur; documents must exist.
    std::vector<float> weights_of(const std::int64_t* terms, std::size_t count, const std::int64_t* documents, std::size_t n) const;

private:
    const Kernels& kernels_;
    std::vector<LexicalSegment> segments_;
    std::size_t documents_ = 0;
};

}  // namespace asterism
