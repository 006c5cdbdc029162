// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/cast.h>

#include <algorithm>

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

TEST(CastRow, FromAndToFloat64) {
  constexpr double kNan = static_cast<double>(kNaN), kInf = static_cast<double>(kInfinity);
  const Tensor x = tensor<double>(DType::Float64, {1.9, -1.9, 300, 1e20, -1e20, kNan, 0, 2147483646.5, 1e-320});
  check_cast(x, tensor<double>(DType::Float64, {1.9, -1.9, 300, 1e20, -1e20, kNan, 0, 2147483646.5, 1e-320}));
  check_cast(x, tensor<float>(DType::Float32, {1.9f, -1.9f, 300, 1e20f, -1e20f, kNaN, 0, 0x1p31f, 0}));
  check_cast(x, tensor<int32_t>(DType::Int32, {1, -1, 300, INT32_MIN, INT32_MIN, INT32_MIN, 0, INT32_MAX - 1, 0}));
  check_cast(x, tensor<int64_t>(DType::Int64, {1, -1, 300, INT64_MIN, INT64_MIN, INT64_MIN, 0, INT32_MAX - 1, 0}));
  check_cast(x, tensor<uint8_t>(DType::UInt8, {1, 255, 44, 0, 0, 0, 0, 254, 0}));
  check_cast(x, tensor<uint8_t>(DType::Bool, {1, 1, 1, 1, 1, 1, 0, 1, 1}));
  // By way of Int64 and of Int32, as in PyTorch.
  const Tensor large = tensor<double>(DType::Float64, {5e9 + 3, -5e9 - 3});
  check_cast(large, tensor<uint8_t>(DType::UInt8, {3, 253}));
  check_cast(large, tensor<int8_t>(DType::Int8, {0, 0}));
  // By way of Float32, as in PyTorch: 1 + 2^-11 + 2^-40 is halfway between two of Float16 then.
  const Tensor close = tensor<double>(DType::Float64, {1 + 0x1p-11 + 0x1p-40, 70000, -0.0, kInf});
  check_cast(close, tensor<uint16_t>(DType::Float16, {0x3C00, 0x7C00, 0x8000, 0x7C00}));
  check_cast(tensor<uint16_t>(DType::BFloat16, {0x3F80, 0xC020}), tensor<double>(DType::Float64, {1, -2.5}));
  check_cast(
      tensor<int64_t>(DType::Int64, {INT64_MIN, (int64_t{1} << 53) + 1, -7}),
      tensor<double>(DType::Float64, {-0x1p63, 0x1p53, -7}));
  check_cast(tensor<float>(DType::Float32, {0.1f, kInfinity}), tensor<double>(DType::Float64, {double{0.1f}, kInf}));
  check_cast(tensor<uint8_t>(DType::Bool, {0, 1}), tensor<double>(DType::Float64, {0, 1}));
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
