// Included by each kernel file: plain loops that the compiler vectorises for that file's instruction set.

void add_row(const std::uint8_t* row, std::size_t n, std::uint16_t factor, std::uint16_t* sums) {
    for (std::size_t i = 0; i < n; ++i) {
        const auto high = static_cast<std::uint16_t>(row[i] << 8);
        const auto product = static_cast<std::uint16_t>((std::uint32_t{high} * factor) >> 16);
        sums[i] = static_cast<std::uint16_t>(sums[i] + product + (high != 0));
    }
}
