// A codec as Python gives it.
#pragma once

#include "arrays.hpp"
#include "codec.hpp"
#include "token_engine.hpp"

namespace asterism {

// Arrays kept alive with the views into them.
struct PyCentroids {
    In<std::uint8_t, 2> rows;
    In<float, 1> scales;
    In<float, 1> half_norms;
    In<std::uint8_t, 2> group_rows;
    In<float, 1> group_scales;
    In<float, 1> group_half_norms;
    In<std::uint32_t, 1> starts;

    CentroidTree tree() const {
        return {rows.shape(1),     rows.data(),         scales.data(),           half_norms.data(), group_rows.shape(0),
                group_rows.data(), group_scales.data(), group_half_norms.data(), starts.data()};
    }
};

struct PyCodec {
    PyCentroids centroids;
    In<float, 2> signs;
    In<std::uint8_t, 1> levels;
    In<float, 1> cutoffs;
    std::size_t dimensions;
    int bits;
    float step;
    float zero;
    bool scales_whole_vector;

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
                centroids.scales.data(), signs.shape(0), signs.data()};
    }
};

}  // namespace asterism
