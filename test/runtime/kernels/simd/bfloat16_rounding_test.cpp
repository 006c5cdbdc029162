// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/simd/bfloat16_rounding.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

bool is_denormal(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

// Of a number that is no NaN.
uint16_t nearest(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void check_rounding(const std::vector<float>& numbers, size_t count) {
  std::vector<uint16_t> actual(count + 1, 0x5A5A);
  const bool is_right = round_to_bfloat16(numbers.data(), actual.data(), count);
  EXPECT_TRUE(is_right || std::any_of(numbers.begin(), numbers.begin() + count, is_denormal)) << count;
  for (size_t i = 0; i < count; ++i) {
    if (std::isnan(numbers[i])) {
      EXPECT_GT(actual[i] & 0x7FFF, 0x7F80) << count;
    } else if (is_right || !is_denormal(numbers[i])) {
      EXPECT_EQ(actual[i], nearest(numbers[i])) << numbers[i] << " at " << i << " of " << count;
    }
  }
  EXPECT_EQ(actual[count], 0x5A5A);
}

TEST(BFloat16RoundingTest, RoundsToTheNearest) {
  std::vector<float> numbers{0, -0.0f, 1, -1, kInfinity, -kInfinity, kNaN, 3.4e38f, 1.18e-38f};
  for (const float x : {1.0f, -1.0f, 3e38f, 2e-38f, 70000.0f}) {
    for (const float part : {0.0f, 0x1p-9f, 0x1.8p-8f, 0x1p-8f, 0x1.000002p-8f, 0x1.FFFFFEp-9f}) {
      numbers.push_back(x * (1 + part));
    }
  }
  const Tensor random = random_floats({40});
  numbers.insert(numbers.end(), random.data<float>(), random.data<float>() + 40);
  for_each_isa(
      [&] {
        for (size_t count = 0; count <= numbers.size(); ++count) {
          check_rounding(numbers, count);
        }
      },
      Isas::OnlyBFloat16);
}

TEST(BFloat16RoundingTest, SaysWhetherThereIsADenormalNumber) {
  for_each_isa(
      [] {
        for (const size_t count : {1, 7, 16, 17, 35, 64}) {
          for (size_t at = 0; at < count; ++at) {
            for (const float denormal : {1e-40f, -1e-45f, 1.17549421e-38f}) {
              std::vector<float> numbers(count, 1.2345f);
              numbers[at] = denormal;
              check_rounding(numbers, count);
            }
          }
        }
      },
      Isas::OnlyBFloat16);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
