// Included by each kernel file (see rotate.inl), which provides quantise(): residual (width) * factor -> codes (width), the number
// of cutoffs that each coordinate exceeds, and decoded (width), the code's level - zero; and pack(): codes (width) -> row_bytes.

// Eight running sums and a fixed tree, so that every instruction set rounds in the same way. n is a multiple of 8.
inline float lane_dot(const float* a, const float* b, std::size_t n) {
    float lanes[8] = {};
    for (std::size_t j = 0; j < n; j += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += a[j + lane] * b[j + lane];
    }
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

float encode_residual(const float* row, const ResidualCoder& coder, const std::uint8_t* centroid, float centroid_scale,
                      float* scratch, std::uint8_t* packed) {
    const std::size_t d = coder.dimensions;
    const std::size_t width = coder.width;
    float* residual = scratch;
    float* decoded = scratch + width;
    auto* codes = reinterpret_cast<std::uint8_t*>(scratch + 2 * width);

    for (std::size_t j = 0; j < d; ++j) residual[j] = row[j] - centroid_scale * (static_cast<float>(centroid[j]) - kCentroidZero);
    for (std::size_t j = d; j < width; ++j) residual[j] = 0.0f;

    const float energy = lane_dot(residual, residual, width);
    float factor = 1.0f;
    if (!coder.format.scales_whole_vector) {
        const float ratio = static_cast<float>(d) / energy;
        factor = std::isfinite(ratio) ? std::sqrt(ratio) : 0.0f;  // a negligible residual is treated as zero
    }
    quantise(residual, factor, coder, codes, decoded);

    pack(codes, coder.format, packed);

    if (coder.format.scales_whole_vector) {  // ColBERTv2: unit length after decoding
        for (std::size_t j = 0; j < d; ++j) {
            residual[j] = centroid_scale * (static_cast<float>(centroid[j]) - kCentroidZero) + coder.format.step * decoded[j];
        }
        const float length = std::sqrt(lane_dot(residual, residual, width));
        return length > 0.0f ? 1.0f / length : 0.0f;
    }
    // RaBitQ: the scale at which the decoded residual projects onto the true one without bias.
    const float projection = lane_dot(residual, decoded, width) * coder.format.step;
    return projection > 0.0f ? energy / projection : 0.0f;
}
