// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/xnnpack/parts.h>

#include <initializer_list>

#include <gtest/gtest.h>

#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr Limited kLimited[] = {Limited::Linear, Limited::Conv, Limited::AvgPool};

TEST(XnnpackParts, AreInWhatWeBuild) {
  for (const Part part : {Part::Denormals, Part::Rounding}) {
    EXPECT_EQ(xnnpack_has(part), !is_xnnpack_of_executorch());
  }
  EXPECT_TRUE(xnnpack_has(Part::Sums) || is_xnnpack_of_executorch());
  for (const Limited op : kLimited) {
    for (size_t size = 1; size < 200; ++size) {
      EXPECT_TRUE(xnnpack_keeps_nan(op, /*float16=*/false, size) || is_xnnpack_of_executorch())
          << static_cast<int>(op) << " with " << size;
    }
  }
}

TEST(XnnpackParts, AreAskedForOnce) {
  for (const Limited op : kLimited) {
    for (const bool float16 : {false, true}) {
      for (const size_t size : {1, 3, 4, 17, 64, 1000}) {
        EXPECT_EQ(xnnpack_keeps_nan(op, float16, size), xnnpack_keeps_nan(op, float16, size));
      }
    }
  }
}

// There are microkernels for so many taps; others multiply what is beside the window by 0.
TEST(XnnpackParts, DepthwiseConvolutionsHaveTheirTaps) {
  for (const size_t taps : {3, 4, 9, 25}) {
    EXPECT_TRUE(xnnpack_keeps_nan(Limited::Depthwise, /*float16=*/false, taps) || is_xnnpack_of_executorch()) << taps;
  }
  EXPECT_TRUE(xnnpack_keeps_nan(Limited::Depthwise, /*float16=*/false, 0) || is_xnnpack_of_executorch());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
