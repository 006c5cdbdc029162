// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/cast.h>

#include <algorithm>
#include <cmath>

#include <runtime/kernels/simd/reduced_float.h>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

void check_cast(const Tensor& x, const Tensor& y) {
  SCOPED_TRACE(x.type.to_string() + " to " + y.type.to_string());
  check_row([&] { return cast_row(x.type.dtype, y.type.dtype); }, {x}, y);
}

template <typename T>
Tensor tensor(DType dtype, const std::vector<T>& values) {
  Tensor result(dtype, {values.size()});
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

TEST(CastRow, FromAndToHalf) {
  const Tensor x = tensor<uint16_t>(DType::Float16, {0x3C00, 0xC100, 0x0000, 0x8000, 0x7BFF, 0x3801});
  check_cast(x, tensor<float>(DType::Float32, {1, -2.5f, 0, -0.0f, 65504, 0.50048828125f}));
  check_cast(x, tensor<uint16_t>(DType::BFloat16, {0x3F80, 0xC020, 0, 0x8000, 0x4780, 0x3F00}));
  check_cast(x, tensor<int32_t>(DType::Int32, {1, -2, 0, 0, 65504, 0}));
  check_cast(x, tensor<int64_t>(DType::Int64, {1, -2, 0, 0, 65504, 0}));
  check_cast(x, tensor<uint8_t>(DType::Bool, {1, 1, 0, 0, 1, 1}));
  const Tensor b = tensor<uint16_t>(DType::BFloat16, {0x3F80, 0xC020, 0x0001, 0x7F80});
  check_cast(b, tensor<uint16_t>(DType::Float16, {0x3C00, 0xC100, 0, 0x7C00}));
  check_cast(
      tensor<int64_t>(DType::Int64, {1, -3, 2049, 1 << 20}),
      tensor<uint16_t>(DType::Float16, {0x3C00, 0xC200, 0x6800, 0x7C00}));
  check_cast(tensor<uint8_t>(DType::Bool, {0, 1}), tensor<uint16_t>(DType::BFloat16, {0, 0x3F80}));
}

TEST(CastRow, FromFloats) {
  const Tensor x = tensor<float>(DType::Float32, {1.9f, -1.9f, 300, 1e20f, -1e20f, kNaN, 0});
  check_cast(x, tensor<int32_t>(DType::Int32, {1, -1, 300, INT32_MIN, INT32_MIN, INT32_MIN, 0}));
  check_cast(x, tensor<int64_t>(DType::Int64, {1, -1, 300, INT64_MIN, INT64_MIN, INT64_MIN, 0}));
  check_cast(x, tensor<uint8_t>(DType::UInt8, {1, 255, 44, 0, 0, 0, 0}));
  check_cast(x, tensor<int8_t>(DType::Int8, {1, -1, 44, 0, 0, 0, 0}));
  check_cast(x, tensor<uint8_t>(DType::Bool, {1, 1, 1, 1, 1, 1, 0}));
}

TEST(CastRow, RepeatsWhatDoesNotMove) {
  const float x = -2.5f;
  const RowOperand operand{&x, false};
  std::vector<int32_t> y(5);
  cast_row(DType::Float32, DType::Int32)->run(&operand, y.data(), y.size());
  EXPECT_EQ(y, std::vector<int32_t>(5, -2));
}

TEST(CastRow, ManyElements) {
  Tensor x(DType::Float16, {100003}), y(DType::Int32, {100003});
  for (size_t i = 0; i < x.numel(); ++i) {
    const uint16_t bits = static_cast<uint16_t>(i % 0x7C00);
    x.data<uint16_t>()[i] = bits;
    float wide = 0;
    widen(DType::Float16, &bits, &wide, 1);
    y.data<int32_t>()[i] = static_cast<int32_t>(wide);
  }
  check_cast(x, y);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
