// Included by each kernel file (see rotate.inl).

void add_signed(const std::int8_t* bytes, float scale, std::size_t d, double* sums) {
    for (std::size_t j = 0; j < d; ++j) sums[j] += static_cast<double>(scale * static_cast<float>(bytes[j]));
}
