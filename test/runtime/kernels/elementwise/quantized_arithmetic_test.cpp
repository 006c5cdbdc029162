// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/quantized_arithmetic.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

Tensor random_bytes(const Shape& shape) {
  static std::mt19937 generator(3);
  std::uniform_int_distribution<int> distribution(-128, 127);
  Tensor tensor(DType::Int8, shape);
  for (size_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<int8_t>()[i] = static_cast<int8_t>(distribution(generator));
  }
  return tensor;
}

struct Case {
  ByteQuantization a, b, y;
  char operation = '+'; // or - or *
};

std::unique_ptr<Row> row_of(const Case& c) {
  return c.operation == '*' ? quantized_product_row(c.a, c.b, c.y)
                            : quantized_sum_row(c.a, c.b, c.y, /*subtracts=*/c.operation == '-');
}

double result_of(char operation, double a, double b) {
  return operation == '*' ? a * b : operation == '-' ? a - b : a + b;
}

// An operand of one element counts for all of the result.
void check(const Case& c, const Tensor& a, const Tensor& b) {
  Tensor expected(DType::Int8, a.numel() == 1 ? b.shape() : a.shape());
  const auto number = [](const ByteQuantization& type, const Tensor& x, size_t i) {
    const int q = x.data<int8_t>()[x.numel() == 1 ? 0 : i];
    return (q - type.zero_point) * static_cast<double>(type.scale);
  };
  const PlainCase row = row_case([&] { return row_of(c); }, {a, b}, expected.type);
  for_each_isa([&] {
    for (const size_t threads : {0u, 3u}) {
      const Tensor actual = run_kernel(row, threads);
      for (size_t i = 0; i < actual.numel(); ++i) {
        const double result = result_of(c.operation, number(c.a, a, i), number(c.b, b, i));
        const double exact = std::clamp(result / c.y.scale + c.y.zero_point, -128.0, 127.0);
        ASSERT_LE(std::abs(actual.data<int8_t>()[i] - exact), 0.5001) << i << " of " << actual.numel();
      }
    }
  });
}

constexpr ByteQuantization kA{DType::Int8, 0.031f, -7}, kB{DType::Int8, 0.057f, 11}, kY{DType::Int8, 0.071f, -19};

TEST(QuantizedArithmetic, Sizes) {
  for (const size_t count : {1u, 3u, 4u, 5u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 127u, 130u, 5000u}) {
    check({kA, kB, kY}, random_bytes({count}), random_bytes({count}));
    check({kA, kB, kY, '*'}, random_bytes({count}), random_bytes({count}));
  }
}

TEST(QuantizedArithmetic, Difference) {
  check({kA, kB, kY, '-'}, random_bytes({333}), random_bytes({333}));
}

TEST(QuantizedArithmetic, OneForAll) {
  check({kA, kB, kY}, random_bytes({1}), random_bytes({150}));
  check({kA, kB, kY}, random_bytes({150}), random_bytes({1}));
  check({kA, kB, kY, '*'}, random_bytes({1}), random_bytes({150}));
  check({kA, kB, kY, '*'}, random_bytes({150}), random_bytes({1}));
}

TEST(QuantizedArithmetic, ResultsBeyondTheRange) { // ratios of scales as large and as small as XNNPACK takes
  check(
      {{DType::Int8, 255.9f, -128}, {DType::Int8, 255.9f, 127}, {DType::Int8, 1, 0}},
      random_bytes({200}),
      random_bytes({200}));
  check(
      {{DType::Int8, 255.9f, 127}, {DType::Int8, 255.9f, 127}, {DType::Int8, 1, -128}},
      random_bytes({200}),
      random_bytes({200}));
  check(
      {{DType::Int8, 1, 127}, {DType::Int8, 1, -128}, {DType::Int8, 1024, 100}},
      random_bytes({200}),
      random_bytes({200}));
  for (const float scale : {255.9f, 0x1p-16f}) {
    for (const int zero_point : {-128, 127}) {
      check(
          {{DType::Int8, 1, zero_point}, {DType::Int8, scale, -128}, {DType::Int8, 1, zero_point}, '*'},
          random_bytes({200}),
          random_bytes({200}));
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
