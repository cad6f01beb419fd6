// Python bindings of mapped files: read-only arrays of bytes that keep their mapping alive.
#include "bindings/arrays.hpp"
#include "shared/mapped_files.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace asterism {
namespace {

using Bytes = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;

nb::object map_file(int descriptor, std::size_t size, nb::bytes name) {
    if (size == 0) throw nb::value_error("an empty file cannot be mapped");
    MappedFile* file = nullptr;
    try {
        file = new MappedFile(descriptor, size, std::string(name.c_str(), name.size()));
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
    nb::capsule owner(file, [](void* p) noexcept { delete static_cast<MappedFile*>(p); });
    return nb::cast(Bytes(file->data(), {size}, owner));
}

}  // namespace

void bind_files(nb::module_& m) {
    m.def("map_file", &map_file, "descriptor"_a, "size"_a, "name"_a, "The first bytes of an open file (size,), read-only");
    m.def(
        "forget_pages", [](nb::ndarray<nb::numpy, nb::c_contig, nb::device::cpu, nb::ro> array) { forget_pages(array.data(), array.nbytes()); },
        "array"_a);
    m.def("lost_files", [] {
        nb::list names;
        for (const std::string& name : lost_files()) names.append(nb::bytes(name.data(), name.size()));
        return names;
    });
}

}  // namespace asterism
