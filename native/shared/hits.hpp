// What every engine returns, and what every engine throws at files that contradict themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace asterism {

// An array of the index contradicts another: the files were changed after they were written.
struct DamagedIndex : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What comes from a file holds, or it is damage.
inline void require(bool holds, const char* otherwise) {
    if (!holds) throw DamagedIndex(otherwise);
}

struct Hit {
    float score;
    std::uint32_t document;
};

inline bool before(const Hit& a, const Hit& b) { return a.score != b.score ? a.score > b.score : a.document < b.document; }

// The `keep` best, best first.
void keep_best(std::vector<Hit>& hits, std::size_t keep);

}  // namespace asterism
