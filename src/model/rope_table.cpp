#include "model/rope_table.hpp"

#include <cmath>

namespace moe::model {

std::vector<Bf16> rope_table(double theta, int64_t rotary_dim, int64_t positions) {
  const int64_t half = rotary_dim / 2;
  std::vector<float> inverse_frequency(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    inverse_frequency[static_cast<size_t>(i)] =
        1.0F / std::pow(static_cast<float>(theta), exponent);
  }
  std::vector<Bf16> table(static_cast<size_t>(positions * rotary_dim));
  for (int64_t position = 0; position < positions; ++position) {
    Bf16* row = table.data() + position * rotary_dim;
    for (int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(position) * inverse_frequency[static_cast<size_t>(i)];
      row[i] = to_bf16(std::cos(angle));
      row[half + i] = to_bf16(std::sin(angle));
    }
  }
  return table;
}

}  // namespace moe::model
