#include "tokens/engine.hpp"

#include <algorithm>

namespace asterism {

PreparedQuery::PreparedQuery(const Kernels& kernels, const Codec& codec, const float* given, std::size_t n)
    : tokens(given),
      count(n),
      padded((n + kQueryGroup - 1) / kQueryGroup * kQueryGroup),
      width(codec.width),
      rows(padded * codec.width),
      scale(padded),
      centroid_offset(padded),
      code_offset(padded),
      with_mean(padded) {
    std::vector<float> rotated(given, given + n * codec.dimensions);
    for (std::size_t j = 0; j < n; ++j) {
        with_mean[j] = balance_query(kernels, codec.shared, codec.dimensions, rotated.data() + j * codec.dimensions);
    }
    kernels.rotate(rotated.data(), n, codec.dimensions, codec.signs, codec.rounds);
    for (std::size_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        kernels.to_signed_bytes(rotated.data() + j * codec.dimensions, codec.dimensions, width, kQueryByte, rows.data() + j * width,
                                &scale[j], &sum);
        centroid_offset[j] = kCentroidZero * static_cast<float>(sum);
        code_offset[j] = codec.code_zero * static_cast<float>(sum);
    }
}

QueryLevels PreparedQuery::levels() const {
    return {padded, width, rows.data(), scale.data(), centroid_offset.data(), code_offset.data(), with_mean.data()};
}

}  // namespace asterism
