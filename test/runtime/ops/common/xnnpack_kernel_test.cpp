// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/common/xnnpack_kernel.h>

#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/xnnpack/library.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Whether XNNPACK takes limits that are the same number in float16. It does since 2025.
#ifdef XNN_FLAG_NO_BROADCAST
constexpr bool kTakesOneNumber = true;
#else
constexpr bool kTakesOneNumber = false;
#endif

// The products of XNNPACK refuse other limits.
TEST(XnnpackClamp, IsARangeInFloat16) {
  EXPECT_TRUE(is_range_in_float16(nullptr));
  for (const auto& [min, max, is_range] : {std::tuple{-1.0f, 1.0f, true}, {0.0f, 1e-9f, false}, {1e5f, 1e6f, false}}) {
    const schema::Clamp limits(min, max);
    EXPECT_EQ(is_range_in_float16(&limits), is_range);
    const std::vector<float> weight(64, 1.0f);
    StatusOr<OperatorPtr> op = create_operator("xnn_create_fully_connected_nc_f16", [&](xnn_operator_t* result) {
      const uint32_t flags = XNN_FLAG_FP32_STATIC_WEIGHTS;
      const size_t one = 1;
      const Address w(weight.data()), no_bias(nullptr);
      return create_with_weights(
          xnn_create_fully_connected_nc_f16,
          nullptr,
          result,
          one,
          one,
          one,
          one,
          w,
          no_bias,
          limits.min(),
          limits.max(),
          flags);
    });
    EXPECT_EQ(op.ok(), (is_range || kTakesOneNumber) && xnnpack_has_float16()) << min << " to " << max;
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
