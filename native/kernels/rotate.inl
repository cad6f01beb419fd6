// Included by each kernel file: plain loops that the compiler vectorises for that file's instruction set.
// The file provides small_butterflies(x, n): the first distances of the transform, those that fit its registers.

// A transform of any dimension: rounds of random signs and a normalised Walsh-Hadamard transform over the
// largest power of two that fits, at the front in even rounds and at the back in odd ones.
inline void hadamard(float* x, std::size_t n) {
    for (std::size_t half = small_butterflies(x, n); half < n; half *= 2) {
        for (std::size_t start = 0; start < n; start += 2 * half) {
            for (std::size_t j = start; j < start + half; ++j) {
                const float a = x[j];
                const float b = x[j + half];
                x[j] = a + b;
                x[j + half] = a - b;
            }
        }
    }
    const float norm = 1.0f / std::sqrt(static_cast<float>(n));
    for (std::size_t j = 0; j < n; ++j) x[j] *= norm;
}

void rotate(float* rows, std::size_t n, std::size_t d, const float* signs, std::size_t rounds) {
    std::size_t block = 1;
    while (block * 2 <= d) block *= 2;
    for (std::size_t row = 0; row < n; ++row) {
        float* x = rows + row * d;
        for (std::size_t round = 0; round < rounds; ++round) {
            for (std::size_t j = 0; j < d; ++j) x[j] *= signs[round * d + j];
            hadamard(round % 2 == 0 ? x : x + (d - block), block);
        }
    }
}
