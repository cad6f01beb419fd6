// Included by each kernel file (see rotate.inl). Eight running sums and a fixed tree, so that every instruction set rounds alike.

void balance(float* row, std::size_t d, const float* mean, const float* axis, float factor) {
    if (mean) {
        for (std::size_t j = 0; j < d; ++j) row[j] -= mean[j];
    }
    float lanes[8] = {};
    const std::size_t whole = d / 8 * 8;
    for (std::size_t j = 0; j < whole; j += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += row[j + lane] * axis[j + lane];
    }
    for (std::size_t j = whole; j < d; ++j) lanes[j - whole] += row[j] * axis[j];
    const float along = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    const float change = factor * along;
    for (std::size_t j = 0; j < d; ++j) row[j] += change * axis[j];
}
