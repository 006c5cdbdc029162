// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/quantize/special.h>

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

TEST(Special, IsFoundAtEveryPlace) {
  constexpr float kMost = std::numeric_limits<float>::max(), kLeast = std::numeric_limits<float>::denorm_min();
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  for (size_t count = 0; count < 70; ++count) {
    std::vector<float> x(count);
    for (size_t i = 0; i < count; ++i) {
      x[i] = i % 3 == 0 ? kMost : i % 3 == 1 ? -kMost : kLeast;
    }
    EXPECT_FALSE(has_special(x.data(), count));
    for (size_t i = 0; i < count; ++i) {
      for (const float special : {kInf, -kInf, kNaN, -kNaN}) {
        std::vector<float> y = x;
        y[i] = special;
        EXPECT_TRUE(has_special(y.data(), count)) << i << " of " << count;
        EXPECT_FALSE(has_special(y.data(), i));
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
