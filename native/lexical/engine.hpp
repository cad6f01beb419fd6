// Exact search over weighted terms: the k documents with the largest sum of query weight times document weight.
//
// Most postings of a query lie in a few long lists. These are stored a second time, as a row of one byte per document: the
// weight, rounded up. A search first adds up, for every document, a bound in 16-bit integers: bytes of rows, which is
// one sweep through memory, and the postings of the short lists. It processes blocks of documents that fit in the
// first caches and keeps those whose bound is among the k largest, or so close that rounding may hide them. Only these,
// few more than k, are scored from the exact weights.
//
// A model's weights are stored. BM25's follow from counts, because they depend on the mean length of all documents, which
// changes with every document. Bytes and largest weights were made with an earlier mean; `highest` and `lowest` say by how
// much the weights may differ now, so that bounds stay bounds.
#pragma once

#include "shared/hits.hpp"
#include "kernels/kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace asterism {

// BM25's weight of a term in a document: float32 operations in this order, as in views/lexical/bm25.py.
struct Bm25 {
    float gain;
    float base;
    float slope;

    float weigh(float count, float length) const { return count * gain / (count + (base + slope * length)); }
};

// What BM25's weights are computed from.
struct TermCounts {
    const std::uint8_t* counts;    // (postings, width)
    std::size_t width;             // bytes of a count: 1, 2 or 4; 0 for a segment that stores weights
    const std::uint32_t* lengths;  // (documents,)
    std::uint32_t longest;         // of the lengths
    const std::uint8_t* shares;    // (postings,) as in rows
    Bm25 bm25;
};

// Terms that occur have numbers 0..terms, in the order of `term_ids`.
struct LexicalSegment {
    std::size_t first_document;
    std::size_t documents;
    std::size_t terms;
    std::size_t postings;
    const std::int64_t* term_ids;     // (terms,) rising
    const std::int64_t* starts;       // (terms + 1,)
    const float* largest;             // (terms,) the largest weight of each list when the segment was written
    const std::uint32_t* list;        // (postings,) documents, rising within a list
    const float* weights;             // (postings,), or nullptr with counts
    TermCounts counts;
    double lowest;                    // every weight is at least this times what it was when the segment was written,
    double highest;                   // and at most this
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
