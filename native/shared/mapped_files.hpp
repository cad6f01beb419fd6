// Files mapped into memory: no descriptor stays open, and a file that is truncated while mapped does not kill the process.
//
// Reading a page that a mapped file no longer has raises SIGBUS. A handler maps a page of zeros in its place and records
// the file; after a computation, the caller checks whether a page was lost and reports damage instead of a result.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace asterism {

struct MappedRegion;

class MappedFile {
public:
    // The first `size` bytes, at least one, of an open file; `name` is for lost_files. Throws std::system_error.
    MappedFile(int descriptor, std::size_t size, std::string name);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const unsigned char* data() const { return data_; }

private:
    unsigned char* data_;
    std::size_t size_;
    MappedRegion* region_;
};

// Drop the pages of a mapped range from this process's memory; they are read again when needed. Other memory is left
// alone.
void forget_pages(const void* begin, std::size_t bytes);

// Names of the mapped files that have lost a page.
std::vector<std::string> lost_files();

}  // namespace asterism
