// A codec whose arrays come from Python.
#pragma once

#include "bindings/arrays.hpp"
#include "tokens/codec.hpp"
#include "tokens/engine.hpp"

namespace asterism {

// Checks that the tokens' centroids exist.
inline void check_numbers(const In<std::uint32_t, 1>& nearest, std::size_t centroids) {
    const std::uint32_t* last = nearest.data() + nearest.shape(0);
    require(std::all_of(nearest.data(), last, [centroids](std::uint32_t number) { return number < centroids; }),
            "a token names a centroid that does not exist");
}

// Checks that the documents' offsets ascend from 0 to the number of tokens.
inline void check_offsets(const In<std::int64_t, 1>& offsets, std::size_t tokens) {
    const std::size_t count = offsets.shape(0);
    require(count > 0 && offsets.data()[0] == 0 && offsets.data()[count - 1] == static_cast<std::int64_t>(tokens) &&
                std::is_sorted(offsets.data(), offsets.data() + count),
            "the documents' offsets are not in order");
}

// Arrays that are kept alive with the pointers into them.
struct PyCentroids {
    In<std::uint8_t, 2> rows;
    In<float, 1> scales;
    In<float, 1> half_norms;
    In<std::uint8_t, 2> group_rows;
    In<float, 1> group_scales;
    In<float, 1> group_half_norms;
    In<std::uint32_t, 1> starts;

    // Checks every number that native code uses as an index.
    void check() const {
        const std::size_t count = half_norms.shape(0);
        const std::size_t groups = group_rows.shape(0);
        require(count > 0 && groups > 0 && rows.shape(0) == count + 1 && scales.shape(0) == count + 1 &&
                    group_rows.shape(1) == rows.shape(1) && group_scales.shape(0) == groups && group_half_norms.shape(0) == groups &&
                    starts.shape(0) == groups + 1 && starts.data()[0] == 0 && starts.data()[groups] == count,
                "a codec's centroids do not belong together");
        for (std::size_t group = 0; group < groups; ++group) {
            require(starts.data()[group] <= starts.data()[group + 1], "a codec's groups are not in order");
        }
    }
    CentroidTree tree() const {
        return {rows.shape(1),     rows.data(),         scales.data(),           half_norms.data(), group_rows.shape(0),
                group_rows.data(), group_scales.data(), group_half_norms.data(), starts.data()};
    }
};

struct PySharedDirection {
    In<float, 1> mean;
    In<float, 1> axis;
    float stretch;

    void check(std::size_t dimensions) const {
        require(mean.shape(0) == dimensions && axis.shape(0) == dimensions, "a codec's mean is not as long as its vectors");
    }
    SharedDirection view() const { return {mean.data(), axis.data(), stretch}; }
};

struct PyCodec {
    PyCentroids centroids;
    PySharedDirection shared;
    In<float, 2> signs;
    In<std::uint8_t, 1> levels;
    In<float, 1> cutoffs;
    std::size_t dimensions;
    int bits;
    float step;
    float zero;
    bool scales_whole_vector;

    void check() const {
        const std::size_t width = centroids.rows.shape(1);
        require(dimensions > 0 && dimensions <= width && width % 32 == 0, "a codec's rows are narrower than its vectors");
        require(bits == 1 || bits == 2 || bits == 4 || bits == 16 || bits == 32, "a codec has no such bits");
        require(bits > 4 || width % dimensions_per_unit(bits) == 0, "a codec's rows are no whole units");
        require(signs.shape(0) == 0 || signs.shape(1) == dimensions, "a codec's signs are not as many as its dimensions");
        shared.check(dimensions);
        require(levels.shape(0) == kUnit, "a codec's levels are not as many as a unit has");
        for (std::size_t code = 0; code < kUnit; ++code) require(levels.data()[code] < 64, "a codec has a level beyond 63");
    }
    CodeFormat format() const {
        const std::size_t row_bytes = bits < 16 ? centroids.rows.shape(1) / dimensions_per_unit(bits) * kUnit : 0;
        return {bits, row_bytes, levels.data(), step, scales_whole_vector};
    }
    ResidualCoder coder() const {
        if (bits > 4 || cutoffs.shape(0) + 1 != std::size_t{1} << bits) throw nb::value_error("a codec without codes, or with other cutoffs");
        return residual_coder(dimensions, centroids.rows.shape(1), format(), zero, cutoffs.data());
    }
    Codec codec() const {
        const std::size_t count = centroids.half_norms.shape(0);
        return {dimensions, centroids.rows.shape(1), bits,           format(),      zero, count, centroids.rows.data(),
                centroids.scales.data(), signs.shape(0), signs.data(), shared.view()};
    }
};

}  // namespace asterism
