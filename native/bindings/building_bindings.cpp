// Python bindings of the functions that build an index.
#include "bindings/codec_arrays.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>

namespace asterism {

void bind_building(nb::module_& m) {
    nb::class_<PyCentroids>(m, "Centroids")
        .def(
            "__init__",
            [](PyCentroids* self, In<std::uint8_t, 2> rows, In<float, 1> scales, In<float, 1> half_norms,
               In<std::uint8_t, 2> group_rows, In<float, 1> group_scales, In<float, 1> group_half_norms,
               In<std::uint32_t, 1> starts) {
                PyCentroids made{rows, scales, half_norms, group_rows, group_scales, group_half_norms, starts};
                made.check();
                new (self) PyCentroids(std::move(made));
            },
            nb::kw_only(), "rows"_a, "scales"_a, "half_norms"_a, "group_rows"_a, "group_scales"_a, "group_half_norms"_a, "starts"_a);
    nb::class_<PySharedDirection>(m, "SharedDirection")
        .def(
            "__init__",
            [](PySharedDirection* self, In<float, 1> mean, In<float, 1> axis, float stretch) {
                new (self) PySharedDirection{mean, axis, stretch};
            },
            nb::kw_only(), "mean"_a, "axis"_a, "stretch"_a);
    nb::class_<PyCodec>(m, "Codec")
        .def(
            "__init__",
            [](PyCodec* self, const PyCentroids& centroids, const PySharedDirection& shared, In<float, 2> signs,
               In<std::uint8_t, 1> levels, In<float, 1> cutoffs, std::size_t dimensions, int bits, float step, float zero,
               bool scales_whole_vector) {
                PyCodec made{centroids, shared, signs, levels, cutoffs, dimensions, bits, step, zero, scales_whole_vector};
                made.check();
                new (self) PyCodec(std::move(made));
            },
            nb::kw_only(), "centroids"_a, "shared"_a, "signs"_a, "levels"_a, "cutoffs"_a, "dimensions"_a, "bits"_a, "step"_a, "zero"_a,
            "scales_whole_vector"_a);
    m.def(
        "transformed",
        [](nb::ndarray<nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> rows, const PySharedDirection& shared,
           In<float, 2> signs, Out<float, 2> out, std::size_t threads, const std::string& kernels) {
            const std::size_t d = rows.shape(1);
            shared.check(d);
            nb::gil_scoped_release release;
            const Kernels& chosen = kernels_named(kernels);
            Team team(threads);
            team.run([&](std::size_t rank) {
                const Range mine = part_of(rows.shape(0), rank, team.size());
                for (std::size_t row = mine.begin; row < mine.end; ++row) {
                    float* own = out.data() + row * d;
                    if (rows.itemsize() == 2) chosen.widen(static_cast<const std::uint16_t*>(rows.data()) + row * d, d, own);
                    else std::copy_n(static_cast<const float*>(rows.data()) + row * d, d, own);
                    balance_vector(chosen, shared.view(), d, own);
                    chosen.rotate(own, 1, d, signs.data(), signs.shape(0));
                }
            });
        },
        "rows"_a, "shared"_a, "signs"_a, "out"_a, "threads"_a, "kernels"_a,
        "rows (n, d) float16 (as uint16) or float32 -> out (n, d): balanced and rotated");
    m.def(
        "to_signed_rows",
        [](In<float, 2> rows, Out<std::int8_t, 2> bytes, Out<float, 1> scales, Out<std::int32_t, 1> sums, std::size_t threads,
           const std::string& kernels) {
            const std::size_t d = rows.shape(1);
            const std::size_t width = bytes.shape(1);
            if (width < d) throw nb::value_error("the bytes are narrower than the rows");
            nb::gil_scoped_release release;
            const Kernels& chosen = kernels_named(kernels);
            Team team(threads);
            team.run([&](std::size_t rank) {
                const Range mine = part_of(rows.shape(0), rank, team.size());
                for (std::size_t i = mine.begin; i < mine.end; ++i) {
                    chosen.to_signed_bytes(rows.data() + i * d, d, width, kVectorByte, bytes.data() + i * width, scales.data() + i,
                                           sums.data() + i);
                }
            });
        },
        "rows"_a, "bytes"_a, "scales"_a, "sums"_a, "threads"_a, "kernels"_a);
    m.def(
        "assign",
        [](const PyCentroids& centroids, In<std::int8_t, 2> bytes, In<float, 1> scales, In<std::int32_t, 1> sums,
           Out<std::uint32_t, 1> nearest, std::size_t most_groups, float reach, std::size_t threads, const std::string& kernels) {
            if (bytes.shape(1) != centroids.rows.shape(1)) throw nb::value_error("the bytes are not as wide as the centroids");
            nb::gil_scoped_release release;
            const SignedRows rows{bytes.shape(0), bytes.shape(1), bytes.data(), scales.data(), sums.data()};
            assign(kernels_named(kernels), centroids.tree(), rows, {most_groups, reach}, threads, nearest.data());
        },
        "centroids"_a, "bytes"_a, "scales"_a, "sums"_a, "nearest"_a, "most_groups"_a, "reach"_a, "threads"_a, "kernels"_a);
    m.def(
        "sum_by_centroid",
        [](In<std::int8_t, 2> bytes, In<float, 1> scales, In<std::uint32_t, 1> nearest, Out<double, 2> sums, Out<std::int64_t, 1> counts,
           std::size_t threads, const std::string& kernels) {
            check_numbers(nearest, counts.shape(0));
            nb::gil_scoped_release release;
            const SignedRows rows{bytes.shape(0), bytes.shape(1), bytes.data(), scales.data(), nullptr};
            sum_by_centroid(kernels_named(kernels), rows, sums.shape(1), nearest.data(), counts.shape(0), threads, sums.data(),
                            counts.data());
        },
        "bytes"_a, "scales"_a, "nearest"_a, "sums"_a, "counts"_a, "threads"_a, "kernels"_a);
    m.def(
        "encode",
        [](const PyCodec& codec, In<float, 2> rows, In<std::uint32_t, 1> nearest, Out<std::uint8_t, 2> codes, Out<float, 1> scales,
           std::size_t threads, const std::string& kernels) {
            check_numbers(nearest, codec.centroids.half_norms.shape(0));
            nb::gil_scoped_release release;
            encode(kernels_named(kernels), codec.coder(), codec.centroids.tree(), rows.data(), rows.shape(0), nearest.data(), threads, codes.data(),
                   scales.data());
        },
        "codec"_a, "rows"_a, "nearest"_a, "codes"_a, "scales"_a, "threads"_a, "kernels"_a);
    m.def(
        "inverted_lists",
        [](In<std::uint32_t, 1> nearest, In<std::int64_t, 1> offsets, std::size_t centroids) {
            check_numbers(nearest, centroids);
            check_offsets(offsets, nearest.shape(0));
            InvertedLists lists;
            {
                nb::gil_scoped_release release;
                lists = invert(nearest.data(), offsets.data(), offsets.shape(0) - 1, centroids);
            }
            const std::size_t tokens = lists.documents.size();
            return nb::make_tuple(as_array(std::move(lists.starts), {centroids + 1}), as_array(std::move(lists.documents), {tokens}),
                                  as_array(std::move(lists.places), {tokens}));
        },
        "nearest"_a, "offsets"_a, "centroids"_a);
}

}  // namespace asterism
