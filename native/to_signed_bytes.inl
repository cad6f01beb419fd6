// Included by each kernel file (see rotate.inl).

void to_signed_bytes(const float* row, std::size_t d, std::size_t width, std::int8_t* bytes, float* scale, std::int32_t* sum) {
    float largest = 0.0f;
    for (std::size_t j = 0; j < d; ++j) largest = std::max(largest, std::fabs(row[j]));
    if (largest < 1e-30f) largest = 0.0f;  // its reciprocal would overflow
    const float factor = largest > 0.0f ? 127.0f / largest : 0.0f;
    std::int32_t total = 0;
    for (std::size_t j = 0; j < d; ++j) {
        // Adding 1.5 * 2^23 rounds to the nearest integer (ties to even), and that vectorises everywhere.
        const float rounded = (row[j] * factor + 12582912.0f) - 12582912.0f;
        bytes[j] = static_cast<std::int8_t>(static_cast<std::int32_t>(rounded));
        total += bytes[j];
    }
    std::fill(bytes + d, bytes + width, std::int8_t{0});
    *scale = largest / 127.0f;
    *sum = total;
}
