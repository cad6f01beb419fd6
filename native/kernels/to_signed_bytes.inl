// Included by each kernel file (see rotate.inl), which provides largest_magnitude(row, d), and round_to_bytes(row, d, factor, bytes):
// row * factor to the nearest integers, ties to even; returns their sum.

void to_signed_bytes(const float* row, std::size_t d, std::size_t width, float most, std::int8_t* bytes, float* scale,
                     std::int32_t* sum) {
    float largest = largest_magnitude(row, d);
    if (largest < 1e-30f) largest = 0.0f;  // its reciprocal would overflow
    *scale = largest / most;
    *sum = round_to_bytes(row, d, largest > 0.0f ? most / largest : 0.0f, bytes);
    std::fill(bytes + d, bytes + width, std::int8_t{0});
}
