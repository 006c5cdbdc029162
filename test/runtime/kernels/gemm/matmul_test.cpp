// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/simd/half.h>
#include <runtime/kernels/gemm/matmul.h>

#include "quantized.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A constant that the program has in this type.
Tensor rounded(Tensor w, DType stored) {
  if (w.type.stored = stored; is_reduced_float(stored)) {
    std::vector<uint16_t> halves(w.numel());
    narrow(stored, w.data<float>(), halves.data(), halves.size());
    widen(stored, halves.data(), w.data<float>(), halves.size());
  }
  return w;
}

// Rows of x, each times all rows of w.
void check_linear(
    const Shape& x_shape,
    size_t columns,
    bool bias = true,
    std::optional<schema::Clamp> clamp = std::nullopt,
    DType stored = DType::Float32) {
  SCOPED_TRACE(x_shape.to_string() + " to " + std::to_string(columns));
  const size_t depth = x_shape.last();
  const size_t rows = x_shape.numel(0, x_shape.rank - 1);
  Tensor x = random_floats(x_shape);
  if (clamp) {
    x.data<float>()[depth / 2] = kNaN; // which limits must not hide
  }
  const Tensor b = random_floats({columns});
  const Tensor w = rounded(random_floats({columns, depth}), stored);
  Shape shape = x_shape;
  shape[shape.rank - 1] = columns;
  Tensor y(DType::Float32, shape);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      double sum = bias ? static_cast<double>(b.data<float>()[j]) : 0;
      for (size_t k = 0; k < depth; ++k) {
        sum +=
            static_cast<double>(x.data<float>()[i * depth + k]) * static_cast<double>(w.data<float>()[j * depth + k]);
      }
      if (clamp) {
        sum = std::min(std::max(sum, static_cast<double>(clamp->min())), static_cast<double>(clamp->max()));
      }
      y.data<float>()[i * columns + j] = static_cast<float>(sum);
    }
  }
  check_kernel(
      {make_linear,
       schema::Attributes::Linear,
       [=](auto& builder) { return schema::CreateLinear(builder, clamp ? &*clamp : nullptr).Union(); },
       {x, w, bias ? std::optional(b) : std::nullopt},
       y.type,
       {},
       0,
       {1}},
      y,
      {1e-6f * static_cast<float>(depth + 10), 1e-6f});
}

TEST(LinearKernel, WeightsOf16Bits) {
  for (const DType stored : {DType::Float16, DType::BFloat16}) {
    for (const size_t rows : {1, 4, 5, 9, 31, 67}) {
      for (const size_t columns : {1, 7, 64, 130}) {
        for (const size_t depth : {1, 15, 33, 260}) {
          check_linear({rows, depth}, columns, true, std::nullopt, stored);
        }
      }
    }
    check_linear({49, 2100}, 33, true, std::nullopt, stored); // too deep to be widened first
    check_linear({3, 5, 7}, 5, false, schema::Clamp(-0.5f, 1), stored);
    check_linear({0, 5}, 3, true, std::nullopt, stored);
    check_linear({12, 0}, 4, true, std::nullopt, stored);
    check_linear({3, 0}, 4, true, std::nullopt, stored);
  }
}

// Operands of integers or floats, a weight of integers.
TEST(LinearKernel, WeightsOfIntegers) {
  const Quantized integers(DType::Int8, {0.5f, 0.25f, 1.0f, 2.0f, 0.125f}, {0, 1, -1, -128, 127}, 0);
  const Quantized rows(DType::Int8, 0.25f, 5),
      sums(DType::Int32, {0.5f, 0.25f, 1.0f, 2.0f, 0.125f}, {0, 0, 0, 0, 0}, 0);
  for (const size_t count : {1, 6, 67}) {
    for (const size_t depth : {1, 33}) {
      const Tensor weight = integers.every({5, depth}), bias = sums.tensor({5}, {1, -2, 70, -6, 8});
      const Tensor x = rows.every({count, depth});
      const std::vector<float> w = integers.numbers(weight), a = rows.numbers(x), b = sums.numbers(bias);
      Tensor y(DType::Float32, {count, 5});
      for (size_t i = 0; i < y.numel(); ++i) {
        double sum = static_cast<double>(b[i % 5]);
        for (size_t k = 0; k < depth; ++k) {
          sum += static_cast<double>(a[i / 5 * depth + k]) * static_cast<double>(w[i % 5 * depth + k]);
        }
        y.data<float>()[i] = static_cast<float>(sum);
      }
      for (const Tensor& operand : {x, floats(x.shape(), a)}) {
        check_kernel(
            {make_linear_of_integers,
             schema::Attributes::Linear,
             [](auto& builder) { return schema::CreateLinear(builder).Union(); },
             {operand, weight, bias},
             y.type,
             {},
             0,
             {1, 2}},
            y,
            {1e-2f, 1e-6f});
      }
    }
  }
}

TEST(LinearKernel, Sizes) {
  for (const size_t rows : {1, 3, 4, 5, 12, 13, 121}) {
    for (const size_t columns : {1, 4, 16, 17, 33, 130}) {
      for (const size_t depth : {1, 16, 33, 260}) {
        check_linear({rows, depth}, columns);
      }
    }
  }
}

TEST(LinearKernel, LeadingAxes) {
  check_linear({7}, 5);
  check_linear({2, 3, 4, 7}, 5);
  check_linear({130, 700}, 300, false);
}

TEST(LinearKernel, Empty) {
  check_linear({0, 5}, 3);
  check_linear({3, 0}, 4);
  check_linear({5, 0}, 4);
  check_linear({5, 4}, 0);
}

TEST(LinearKernel, Clamp) {
  check_linear({2, 30}, 20, true, schema::Clamp(-1, 2));
  check_linear({20, 30}, 20, true, schema::Clamp(0, kInfinity));
  check_linear({20, 300}, 20, true, schema::Clamp(0, kInfinity), DType::BFloat16);
}

void check_batch_matmul(const Shape& a_shape, size_t columns, bool transpose_b, DType stored = DType::Float32) {
  SCOPED_TRACE(a_shape.to_string() + " to " + std::to_string(columns));
  const size_t rank = a_shape.rank, rows = a_shape[rank - 2], depth = a_shape.last();
  Shape b_shape = a_shape, shape = a_shape;
  b_shape[rank - 2] = transpose_b ? columns : depth;
  b_shape[rank - 1] = transpose_b ? depth : columns;
  shape[rank - 1] = columns;
  const Tensor a = random_floats(a_shape);
  const Tensor b = rounded(random_floats(b_shape), stored);
  Tensor y(DType::Float32, shape);
  for (size_t i = 0; columns > 0 && i < y.numel(); ++i) {
    const size_t j = i % columns, row = i / columns, batch = row / rows;
    double sum = 0;
    for (size_t k = 0; k < depth; ++k) {
      const size_t at = batch * depth * columns + (transpose_b ? j * depth + k : k * columns + j);
      sum += static_cast<double>(a.data<float>()[row * depth + k]) * static_cast<double>(b.data<float>()[at]);
    }
    y.data<float>()[i] = static_cast<float>(sum);
  }
  check_kernel(
      {make_batch_matmul,
       schema::Attributes::BatchMatMul,
       [=](auto& builder) { return schema::CreateBatchMatMul(builder, transpose_b).Union(); },
       {a, b},
       y.type,
       {},
       0,
       stored == DType::Float32 ? std::vector<size_t>{} : std::vector<size_t>{1}},
      y,
      {1e-6f * static_cast<float>(depth + 10), 1e-6f});
}

TEST(BatchMatMulKernel, Sizes) {
  for (const bool transpose_b : {false, true}) {
    for (const size_t rows : {1, 4, 13}) {
      for (const size_t columns : {1, 16, 47}) {
        for (const size_t depth : {0, 1, 20}) {
          check_batch_matmul({3, rows, depth}, columns, transpose_b);
        }
      }
    }
    check_batch_matmul({2, 1, 2, 1, 2, 5, 6}, 7, transpose_b);
    check_batch_matmul({5, 6}, 7, transpose_b);
    check_batch_matmul({0, 5, 6}, 7, transpose_b);
    check_batch_matmul({2, 150, 300}, 140, transpose_b);
  }
}

TEST(BatchMatMulKernel, WeightsOf16Bits) {
  for (const DType stored : {DType::Float16, DType::BFloat16}) {
    for (const bool transpose_b : {false, true}) {
      for (const size_t rows : {0, 1, 7, 60}) {
        check_batch_matmul({2, rows, 130}, 131, transpose_b, stored);
      }
      check_batch_matmul({1, 2, 3, 500}, 33, transpose_b, stored);
      check_batch_matmul({2, 3, 20}, 9, transpose_b, stored); // too few: widened
    }
  }
}

TEST(BatchMatMulKernel, NotANumberStaysInItsRow) {
  Tensor a = random_floats({1, 14, 6}), b = random_floats({1, 6, 5});
  a.data<float>()[20] = kNaN;
  const KernelCase kernel_case{
      make_batch_matmul,
      schema::Attributes::BatchMatMul,
      [](auto& builder) { return schema::CreateBatchMatMul(builder).Union(); },
      {a, b},
      {DType::Float32, {1, 14, 5}}};
  for_each_isa([&] {
    const Tensor y = run_kernel(kernel_case);
    for (size_t i = 0; i < y.numel(); ++i) {
      EXPECT_EQ(std::isnan(y.data<float>()[i]), i / 5 == 3) << i;
    }
  });
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
