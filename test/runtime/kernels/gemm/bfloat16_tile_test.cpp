// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/gemm/bfloat16_tile.h>

#include <cmath>
#include <vector>

#include <runtime/kernels/simd/reduced_float.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

TEST(BFloat16Tile, RoundsToTheNearest) {
  std::vector<float> numbers{0, -0.0f, 1, -1, kInfinity, -kInfinity, kNaN, 3.4e38f, 1.18e-38f, 1e-40f, -1e-42f};
  for (const float x : {1.0f, -1.0f, 3e38f, 2e-38f, 70000.0f}) {
    for (const float part : {0.0f, 0x1p-9f, 0x1.8p-8f, 0x1p-8f, 0x1.000002p-8f, 0x1.FFFFFEp-9f}) {
      numbers.push_back(x * (1 + part));
    }
  }
  const Tensor random = random_floats({40});
  numbers.insert(numbers.end(), random.data<float>(), random.data<float>() + 40);
  const auto check = [&] {
    for (size_t count = 0; count <= numbers.size(); ++count) {
      std::vector<uint16_t> expected(count), actual(count + 1, 0x5A5A);
      narrow(DType::BFloat16, numbers.data(), expected.data(), count);
      bfloat16_tile()->round(numbers.data(), actual.data(), count);
      for (size_t i = 0; i < count; ++i) {
        const bool is_denormal = std::fpclassify(numbers[i]) == FP_SUBNORMAL;
        const bool is_zero = is_denormal && (actual[i] & 0x7FFF) == 0;
        const bool is_nan = std::isnan(numbers[i]) && (actual[i] & 0x7FFF) > 0x7F80;
        EXPECT_TRUE(actual[i] == expected[i] || is_zero || is_nan) << numbers[i] << " became " << actual[i];
      }
      EXPECT_EQ(actual[count], 0x5A5A);
    }
  };
  for_each_isa(check, Isas::OnlyBFloat16);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
