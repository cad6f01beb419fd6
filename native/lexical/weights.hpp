// The weight of a posting: stored, or BM25's of a count and a length.
#pragma once

#include "lexical/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace asterism {

struct StoredWeights {
    const float* weights;

    float operator()(std::size_t entry, std::size_t) const { return weights[entry]; }
};

template <class Count>
struct CountedWeights {
    TermCounts stored;

    float operator()(std::size_t entry, std::size_t document) const {
        Count count;
        std::memcpy(&count, stored.counts + entry * sizeof count, sizeof count);
        const std::uint32_t length = stored.lengths[document];
        if (count == 0 || length > stored.longest) throw DamagedIndex("a count or a length is out of range");
        return stored.bm25.weigh(static_cast<float>(count), static_cast<float>(length));
    }
};

// Calls use(weight_of), where weight_of(entry, document) is the weight of a posting and `document` is its document.
template <class Use>
decltype(auto) with_weights(const LexicalSegment& segment, Use&& use) {
    switch (segment.counts.width) {
        case 1: return use(CountedWeights<std::uint8_t>{segment.counts});
        case 2: return use(CountedWeights<std::uint16_t>{segment.counts});
        case 4: return use(CountedWeights<std::uint32_t>{segment.counts});
        default: return use(StoredWeights{segment.weights});
    }
}

}  // namespace asterism
