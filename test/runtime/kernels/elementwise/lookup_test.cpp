// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/lookup.h>
#include <runtime/kernels/elementwise/unary.h>

#include <cmath>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr ByteQuantization kFrom{DType::UInt8, 0.5f, 128}, kTo{DType::Int8, 0.25f, -8};

Tensor every_byte(const Shape& shape) {
  Tensor x(DType::UInt8, shape);
  for (size_t i = 0; i < x.numel(); ++i) {
    x.bytes[i] = static_cast<uint8_t>(i * 37);
  }
  return x;
}

float number(const Tensor& x, size_t i) {
  return (static_cast<float>(x.bytes[i]) - 128) * 0.5f;
}

int8_t byte(float x) {
  return static_cast<int8_t>(std::min(std::max(std::nearbyint(x * 4) - 8, -128.0f), 127.0f));
}

TEST(LookupRow, IntegersOfIntegers) {
  const std::unique_ptr<Row> abs = unary_row({"Abs"});
  for (const Shape& shape : {Shape{1}, Shape{7}, Shape{3, 37}, Shape{300, 259}}) {
    const Tensor x = every_byte(shape);
    Tensor y(DType::Int8, shape), copy(DType::Int8, shape);
    for (size_t i = 0; i < x.numel(); ++i) {
      y.data<int8_t>()[i] = byte(std::fabs(number(x, i)));
      copy.data<int8_t>()[i] = byte(number(x, i));
    }
    check_row([&] { return lookup_row(abs.get(), kFrom, kTo); }, {x}, y);
    check_row([&] { return lookup_row(nullptr, kFrom, kTo); }, {x}, copy);
  }
}

TEST(LookupRow, FloatsOfIntegers) {
  const std::unique_ptr<Row> abs = unary_row({"Abs"});
  const Tensor x = every_byte({3, 259});
  Tensor y(DType::Float32, x.shape()), copy(DType::Float32, x.shape());
  for (size_t i = 0; i < x.numel(); ++i) {
    y.data<float>()[i] = std::fabs(number(x, i));
    copy.data<float>()[i] = number(x, i);
  }
  check_row([&] { return lookup_row(abs.get(), kFrom); }, {x}, y);
  check_row([&] { return lookup_row(nullptr, kFrom); }, {x}, copy);
}

TEST(LookupRow, IntegersOfFloats) {
  const Tensor x = random_floats({5, 131}, -50, 50);
  Tensor y(DType::Int8, x.shape());
  for (size_t i = 0; i < x.numel(); ++i) {
    y.data<int8_t>()[i] = byte(x.data<float>()[i]);
  }
  check_row([] { return quantize_bytes_row(kTo); }, {x}, y);
}

// An operand that does not move is one element for all.
TEST(LookupRow, RepeatsWhatDoesNotMove) {
  const uint8_t x = 130;
  const float number_of_x = 1;
  const RowOperand of_byte{&x, false}, of_float{&number_of_x, false};
  std::vector<int8_t> bytes(5);
  std::vector<float> floats(5);
  lookup_row(nullptr, kFrom, kTo)->run(&of_byte, bytes.data(), bytes.size());
  EXPECT_EQ(bytes, std::vector<int8_t>(5, -4));
  lookup_row(nullptr, kFrom)->run(&of_byte, floats.data(), floats.size());
  EXPECT_EQ(floats, std::vector<float>(5, 1));
  std::fill(bytes.begin(), bytes.end(), int8_t{0});
  quantize_bytes_row(kTo)->run(&of_float, bytes.data(), bytes.size());
  EXPECT_EQ(bytes, std::vector<int8_t>(5, -4));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
