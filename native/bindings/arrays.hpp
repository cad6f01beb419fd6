// Shared by the bindings: arrays that are passed between Python and native code, and kernels by name.
#pragma once

#include "kernels/kernels.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace asterism {

template <class T, int Dimensions>
using In = nb::ndarray<const T, nb::numpy, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T, int Dimensions>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T> as_array(std::vector<T>&& values, std::vector<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

inline const Kernels& kernels_named(const std::string& name) {
    const Kernels* found = find_kernels(name.c_str());
    if (!found) throw nb::value_error(("no kernels called '" + name + "' on this machine").c_str());
    return *found;
}

}  // namespace asterism
