// What every engine returns, and the exception that it throws for inconsistent files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace asterism {

// Arrays of the index are inconsistent: the files were changed after they were written.
struct DamagedIndex : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws DamagedIndex if a condition on data from a file is false.
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
