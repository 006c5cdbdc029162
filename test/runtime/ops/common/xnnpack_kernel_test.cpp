// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/common/xnnpack_kernel.h>

#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/xnnpack/library.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Whether XNNPACK takes limits that are the same number in float16. It does since 2025.
constexpr bool kTakesOneNumber = XNN_EXTRA_QUANTIZATION_PARAMS >= 15;

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

// Wherever a number that is not finite stands in a row, and however long that is: they are sought a vector at a time.
void find_what_is_not_finite(bool is_unsigned) {
  if (XnnpackDynamicQuantization::loses_nan()) {
    GTEST_SKIP() << "XNNPACK has no part `rounding`: Special.IsFoundAtEveryPlace tests what takes its place";
  }
  XnnpackDynamicQuantization quantization;
  ASSERT_TRUE(quantization.create(is_unsigned).ok());
  for (size_t size = 1; size <= 140; ++size) {
    std::vector<float> x(size + kTailBytes / sizeof(float), 0.5f);
    std::vector<int8_t> y(XnnpackDynamicQuantization::bytes(1, size) + kTailBytes);
    std::vector<xnn_quantization_params> parameters(parameters_for(1));
    ASSERT_TRUE(quantization.reshape(1, size, nullptr).ok());
    ASSERT_TRUE(quantization.set_up(x.data(), y.data(), parameters.data()).ok());
    const auto scale = [&] {
      EXPECT_EQ(xnn_run_operator(quantization.get(), nullptr), xnn_status_success);
      return parameters[0].scale;
    };
    EXPECT_TRUE(std::isfinite(scale())) << size;
    for (size_t i = 0; i < size; ++i) {
      for (const float special : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
        x[i] = special;
        EXPECT_TRUE(std::isnan(scale())) << special << " at " << i << " of " << size;
      }
      x[i] = 0.5f;
    }
    x[size] = std::nanf(""); // behind the row
    EXPECT_TRUE(std::isfinite(scale())) << size;
  }
}

TEST(XnnpackDynamicQuantization, FindsWhatIsNotFinite) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  find_what_is_not_finite(/*is_unsigned=*/false);
  if (kHasUnsignedRows) {
    find_what_is_not_finite(/*is_unsigned=*/true);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
