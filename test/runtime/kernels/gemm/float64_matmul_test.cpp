// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/gemm/float64_matmul.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Numbers of which 24 bits of Float32 could not hold the products; their sums are exact.
Tensor whole_numbers(const Shape& shape, size_t first) {
  Tensor x(DType::Float64, shape);
  for (size_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] = static_cast<double>((i * 7919 + first) % 20011) - 10005;
  }
  return x;
}

void check(const Float64MatMulParameters& p, bool bias) {
  SCOPED_TRACE(
      std::to_string(p.batch) + " of " + std::to_string(p.rows) + " x " + std::to_string(p.depth) + " x " +
      std::to_string(p.columns));
  const Tensor a = whole_numbers({p.batch, p.rows, p.depth}, 3), b = whole_numbers({p.batch, p.depth, p.columns}, 11);
  const Tensor c = whole_numbers({p.columns}, 5);
  Tensor y(DType::Float64, {p.batch, p.rows, p.columns});
  Index at(y.shape());
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    double sum = bias ? c.data<double>()[at[2]] : 0;
    for (size_t k = 0; k < p.depth; ++k) {
      const size_t column = p.b_transposed ? at[2] * p.depth + k : k * p.columns + at[2];
      sum += a.data<double>()[(at[0] * p.rows + at[1]) * p.depth + k] *
          b.data<double>()[at[0] * p.depth * p.columns + column];
    }
    y.data<double>()[i] = sum;
  }
  const std::vector<std::optional<Tensor>> inputs{a, b, bias ? std::optional(c) : std::nullopt};
  check_kernel(plain_case<Float64MatMul>(p, inputs, {y.type}), y);
}

TEST(Float64MatMul, Sizes) {
  for (const bool transposed : {false, true}) {
    for (const size_t rows : {0, 1, 2, 3, 4, 5, 63, 64, 65, 130}) {
      check({2, rows, 19, 17, transposed}, true);
    }
    for (const size_t columns : {0, 1, 15, 16, 17, 33}) {
      check({1, 5, 7, columns, transposed}, false);
    }
    for (const size_t depth : {0, 1, 255, 256, 257, 600}) {
      check({3, 6, depth, 9, transposed}, depth % 2 == 0);
    }
  }
}

TEST(Float64MatMul, KeepsNan) {
  Tensor a(DType::Float64, {1, 3, 4}), b(DType::Float64, {1, 4, 2}), y(DType::Float64, {1, 3, 2});
  a.data<double>()[5] = static_cast<double>(kNaN);
  b.data<double>()[2] = static_cast<double>(kInfinity); // times 0
  for (size_t i = 0; i < 6; ++i) {
    y.data<double>()[i] = i % 2 == 0 || i / 2 == 1 ? static_cast<double>(kNaN) : 0;
  }
  check_kernel(plain_case<Float64MatMul>(Float64MatMulParameters{1, 3, 4, 2}, {a, b, std::nullopt}, {y.type}), y);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
