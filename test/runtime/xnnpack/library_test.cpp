// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/xnnpack/library.h>

#include <string>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

// We build it with what it needs for that.
TEST(XnnpackLibrary, RoundsRows) {
  EXPECT_TRUE(xnnpack_can_quantize_rows());
}

TEST(XnnpackLibrary, IsDescribedAlike) {
  EXPECT_GT(describe_xnnpack_build().size(), std::string("XNNPACK , build , CPU ").size() + 32);
  EXPECT_NE(describe_xnnpack_build().find(xnnpack_version()), std::string::npos);
  EXPECT_EQ(describe_xnnpack_build(), describe_xnnpack_build());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
