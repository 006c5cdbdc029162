// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/gemm/matmul.h>

#include <array>
#include <cmath>
#include <cstring>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Clamp {
  float min, max;
};

Isas isas_for(LowPrecision precision) {
  return precision.rounds_x ? Isas::WithBFloat16 : Isas::Vectors;
}

// Rows of x, each times all rows of w.
void check_linear(
    const Shape& x_shape,
    size_t columns,
    bool bias = true,
    std::optional<Clamp> clamp = std::nullopt,
    LowPrecision precision = {DType::Float32}) {
  const DType type = precision.type;
  SCOPED_TRACE(x_shape.to_string() + " to " + std::to_string(columns));
  const size_t depth = x_shape.last();
  const size_t rows = x_shape.numel(0, x_shape.rank - 1);
  Tensor x = rounded(random_floats(x_shape), precision.rounds_x ? type : DType::Float32);
  if (clamp) {
    x.data<float>()[depth / 2] = kNaN; // which limits must not hide
  }
  const Tensor b = random_floats({columns});
  const Tensor w = rounded(random_floats({columns, depth}), type);
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
        sum = std::min(std::max(sum, static_cast<double>(clamp->min)), static_cast<double>(clamp->max));
      }
      y.data<float>()[i * columns + j] = static_cast<float>(sum);
    }
  }
  const std::vector<std::optional<Tensor>> inputs{x, w, bias ? std::optional(b) : std::nullopt};
  const Tolerance tolerance{1e-6f * static_cast<float>(depth + 10), 1e-6f};
  if (type == DType::Float32 && !precision.in_blocks) {
    MatrixProduct p;
    p.rows = rows;
    p.depth = p.a_stride = p.b_stride = depth;
    p.columns = p.c_stride = columns;
    p.b_transposed = true;
    p.min = clamp ? clamp->min : -kInfinity;
    p.max = clamp ? clamp->max : kInfinity;
    check_kernel(plain_case<MatMul>(p, inputs, {y.type}), y, tolerance);
  } else {
    LowPrecisionMatMulParameters p;
    p.rows = rows;
    p.depth = depth;
    p.columns = columns;
    p.b_transposed = true;
    p.precision = precision;
    p.min = clamp ? clamp->min : -kInfinity;
    p.max = clamp ? clamp->max : kInfinity;
    check_kernel(plain_case<LowPrecisionMatMul>(p, inputs, {y.type}, {1}), y, tolerance, isas_for(precision));
  }
}

constexpr std::array<LowPrecision, 3> kReducedFloats{
    {{DType::Float16}, {DType::BFloat16}, {DType::BFloat16, /*rounds_x=*/true}}};

TEST(LowPrecisionMatMul, RowsOf16Bits) {
  for (const LowPrecision precision : kReducedFloats) {
    for (const size_t rows : {1, 4, 5, 9, 31, 67}) {
      for (const size_t columns : {1, 7, 64, 130}) {
        for (const size_t depth : {1, 15, 33, 260}) {
          check_linear({rows, depth}, columns, true, std::nullopt, precision);
        }
      }
    }
    check_linear({49, 2100}, 33, true, std::nullopt, precision); // too deep to be widened first
    check_linear({3, 5, 7}, 5, false, Clamp{-0.5f, 1}, precision);
    check_linear({0, 5}, 3, true, std::nullopt, precision);
    check_linear({12, 0}, 4, true, std::nullopt, precision);
    check_linear({3, 0}, 4, true, std::nullopt, precision);
  }
}

// Large enough that rows are rounded in several chunks, and blocks of them meet the panels.
TEST(LowPrecisionMatMul, ManyRowsOf16Bits) {
  check_linear({1100, 1030}, 40, true, std::nullopt, {DType::BFloat16, /*rounds_x=*/true});
  check_linear({3000, 33}, 65, true, Clamp{-1, 1}, {DType::BFloat16, /*rounds_x=*/true});
}

TEST(LowPrecisionMatMul, RowsInBlocks) {
  LowPrecision in_blocks{DType::Float32};
  in_blocks.in_blocks = true;
  const auto check = [&](const Shape& x, size_t columns, bool bias = true, std::optional<Clamp> clamp = std::nullopt) {
    check_linear(x, columns, bias, clamp, in_blocks);
  };
  for (size_t rows = 1; rows <= 25; ++rows) { // each height of a tile
    for (const size_t columns : {1, 15, 16, 17, 31, 32, 33, 48, 49, 65}) {
      check({rows, 3}, columns);
    }
    check({rows, 770}, 200); // the next panel is fetched meanwhile; two blocks of depth
  }
  for (const size_t depth : {1, 2, 17, 260}) {
    check({67, depth}, 130);
  }
  check({301, 40}, 70); // several blocks of rows
  check({301, 1600}, 40, /*bias=*/false);
  check({5, 5, 800}, 34, true, Clamp{-0.5f, 1}); // limits what is added up at last
  for (const size_t rows : {3, 4, 50}) {
    for (const size_t columns : {95, 96, 200}) {
      check({rows, 1024}, columns); // rows that share a set of the cache
    }
  }
  check({0, 5}, 3);
  check({12, 0}, 4);
  check({3, 0}, 4);
}

TEST(LowPrecisionMatMul, RowsInBlocksAreTogetherAsAlone) {
  const size_t depth = 1600, columns = 70;
  const Tensor x = random_floats({260, depth}), w = random_floats({columns, depth}), bias = random_floats({columns});
  LowPrecisionMatMulParameters p;
  p.depth = depth;
  p.columns = columns;
  p.b_transposed = true;
  p.precision.type = DType::Float32;
  p.precision.in_blocks = true;
  const auto product_of = [&](const Tensor& rows, size_t threads) {
    p.rows = rows.shape()[0];
    const TensorSpec y{DType::Float32, {p.rows, columns}};
    return run_kernel(plain_case<LowPrecisionMatMul>(p, {rows, w, bias}, {y}, {1}), threads);
  };
  for_each_isa([&] {
    const Tensor together = product_of(x, 3);
    for (const size_t row : {0, 11, 12, 247, 259}) {
      Tensor one(DType::Float32, {1, depth});
      std::copy_n(x.data<float>() + row * depth, depth, one.data<float>());
      const Tensor alone = product_of(one, 0);
      EXPECT_EQ(std::memcmp(alone.bytes.data(), together.data<float>() + row * columns, columns * sizeof(float)), 0);
    }
  });
}

TEST(LowPrecisionMatMul, RoundsXToTheNearest) {
  const Tensor x = random_floats({35, 70}), w = rounded(random_floats({40, 70}), DType::BFloat16);
  const Tensor nearest = rounded(x, DType::BFloat16);
  LowPrecisionMatMulParameters p;
  p.rows = 35;
  p.depth = 70;
  p.columns = 40;
  p.b_transposed = true;
  p.precision = {DType::BFloat16, /*rounds_x=*/true};
  const auto product_of = [&](const Tensor& left) {
    return run_kernel(plain_case<LowPrecisionMatMul>(p, {left, w}, {{DType::Float32, {35, 40}}}, {1})).bytes;
  };
  for_each_isa(
      [&] {
        const bool rounds = bfloat16_isa() != BFloat16Isa::None;
        EXPECT_EQ(product_of(x) == product_of(nearest), rounds) << isa_name();
      },
      Isas::WithBFloat16);
}

TEST(LowPrecisionMatMul, RowsOfIntegers) {
  const std::array<float, 5> scales{0.5f, 0.25f, 1.0f, 2.0f, 0.125f};
  const std::array<int32_t, 5> zero_points{0, 1, -1, -128, 127};
  for (const bool one_scale : {false, true}) {
    for (const size_t rows : {1, 6, 67}) {
      for (const size_t depth : {1, 33}) {
        const Tensor x = random_floats({rows, depth}), bias = random_floats({5});
        const Tensor w = iota(DType::Int8, {5, depth});
        Tensor y(DType::Float32, {rows, 5});
        for (size_t i = 0; i < y.numel(); ++i) {
          const size_t j = i % 5, k = one_scale ? 0 : j;
          double sum = static_cast<double>(bias.data<float>()[j]);
          for (size_t d = 0; d < depth; ++d) {
            const double number = (w.data<int8_t>()[j * depth + d] - zero_points[k]) * static_cast<double>(scales[k]);
            sum += static_cast<double>(x.data<float>()[i / 5 * depth + d]) * number;
          }
          y.data<float>()[i] = static_cast<float>(sum);
        }
        LowPrecisionMatMulParameters p;
        p.rows = rows;
        p.depth = depth;
        p.columns = 5;
        p.b_transposed = true;
        p.precision.type = DType::Int8;
        p.scales = {{scales.data(), one_scale ? 1u : 5u}, {zero_points.data(), one_scale ? 1u : 5u}};
        for (const bool fixed_point : {false, true}) {
          p.precision.fixed_point = fixed_point;
          const PlainCase product = plain_case<LowPrecisionMatMul>(p, {x, w, bias}, {y.type}, {1});
          check_kernel(product, y, {1e-2f, 1e-6f}, Isas::WithoutByteDot);
        }
      }
    }
  }
}

TEST(MatMul, Sizes) {
  for (const size_t rows : {1, 2, 3, 4, 5, 7, 12, 13, 16, 17, 121}) {
    for (const size_t columns : {1, 4, 16, 17, 33, 65, 130}) {
      for (const size_t depth : {1, 16, 33, 260}) {
        check_linear({rows, depth}, columns);
      }
    }
  }
}

TEST(MatMul, LeadingAxes) {
  check_linear({7}, 5);
  check_linear({2, 3, 4, 7}, 5);
  check_linear({130, 700}, 300, false);
}

TEST(MatMul, Empty) {
  check_linear({0, 5}, 3);
  check_linear({3, 0}, 4);
  check_linear({5, 0}, 4);
  check_linear({5, 4}, 0);
}

TEST(MatMul, Clamp) {
  check_linear({2, 30}, 20, true, Clamp{-1, 2});
  check_linear({20, 30}, 20, true, Clamp{0, kInfinity});
  check_linear({200, 30}, 1, true, Clamp{0, 2});
  for (const bool rounds_x : {false, true}) {
    check_linear({20, 300}, 20, true, Clamp{0, kInfinity}, {DType::BFloat16, rounds_x});
  }
}

MatrixProduct batch_product(size_t batch, size_t rows, size_t depth, size_t columns, bool transpose_b) {
  MatrixProduct p;
  p.batch = batch;
  p.rows = rows;
  p.depth = p.a_stride = depth;
  p.columns = p.c_stride = columns;
  p.b_transposed = transpose_b;
  p.b_stride = transpose_b ? depth : columns;
  p.a_batch = rows * depth;
  p.b_batch = depth * columns;
  p.c_batch = rows * columns;
  return p;
}

void check_batch_matmul(
    const Shape& a_shape, size_t columns, bool transpose_b, LowPrecision precision = {DType::Float32}) {
  const DType type = precision.type;
  SCOPED_TRACE(a_shape.to_string() + " to " + std::to_string(columns));
  const size_t rank = a_shape.rank, rows = a_shape[rank - 2], depth = a_shape.last();
  Shape b_shape = a_shape, shape = a_shape;
  b_shape[rank - 2] = transpose_b ? columns : depth;
  b_shape[rank - 1] = transpose_b ? depth : columns;
  shape[rank - 1] = columns;
  const Tensor a = rounded(random_floats(a_shape), precision.rounds_x ? type : DType::Float32);
  const Tensor b = rounded(random_floats(b_shape), type);
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
  const size_t batch = a_shape.numel(0, rank - 2);
  const Tolerance tolerance{1e-6f * static_cast<float>(depth + 10), 1e-6f};
  if (type == DType::Float32) {
    check_kernel(
        plain_case<MatMul>(batch_product(batch, rows, depth, columns, transpose_b), {a, b}, {y.type}), y, tolerance);
  } else {
    LowPrecisionMatMulParameters p;
    p.batch = batch;
    p.rows = rows;
    p.depth = depth;
    p.columns = columns;
    p.b_transposed = transpose_b;
    p.precision = precision;
    check_kernel(plain_case<LowPrecisionMatMul>(p, {a, b}, {y.type}, {1}), y, tolerance, isas_for(precision));
  }
}

TEST(MatMul, Batches) {
  for (const bool transpose_b : {false, true}) {
    for (const size_t rows : {1, 2, 3, 4, 7, 13, 16, 17, 70}) {
      for (const size_t columns : {1, 2, 16, 47, 80, 150}) {
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

TEST(LowPrecisionMatMul, BatchesOf16Bits) {
  for (const LowPrecision precision : kReducedFloats) {
    for (const bool transpose_b : {false, true}) {
      for (const size_t rows : {0, 1, 7, 60}) {
        check_batch_matmul({2, rows, 130}, 131, transpose_b, precision);
      }
      check_batch_matmul({1, 2, 3, 500}, 33, transpose_b, precision);
      check_batch_matmul({2, 3, 20}, 9, transpose_b, precision);
    }
  }
}

TEST(MatMul, FewRowsAreTogetherAsAlone) {
  const size_t rows = 15, depth = 70, columns = 150;
  const Tensor a = random_floats({rows, depth});
  for (const bool transpose_b : {false, true}) {
    const Tensor b = random_floats(transpose_b ? Shape{columns, depth} : Shape{depth, columns});
    const auto product_of = [&](const Tensor& left, size_t threads) {
      const size_t count = left.shape()[0];
      const MatrixProduct p = batch_product(1, count, depth, columns, transpose_b);
      return run_kernel(plain_case<MatMul>(p, {left, b}, {{DType::Float32, {count, columns}}}), threads);
    };
    for_each_isa([&] {
      for (const size_t count : {size_t{3}, max_unpacked_rows()}) {
        Tensor first(DType::Float32, {std::min(count, rows), depth});
        std::copy_n(a.data<float>(), first.numel(), first.data<float>());
        const Tensor together = product_of(first, 3);
        for (size_t row = 0; row < first.shape()[0]; ++row) {
          Tensor one(DType::Float32, {1, depth});
          std::copy_n(a.data<float>() + row * depth, depth, one.data<float>());
          const Tensor alone = product_of(one, 0);
          EXPECT_EQ(
              std::memcmp(alone.bytes.data(), together.data<float>() + row * columns, columns * sizeof(float)), 0);
        }
      }
    });
  }
}

TEST(MatMul, NotANumberStaysInItsRow) {
  Tensor a = random_floats({1, 14, 6}), b = random_floats({1, 6, 5});
  a.data<float>()[20] = kNaN;
  const PlainCase kernel_case =
      plain_case<MatMul>(batch_product(1, 14, 6, 5, false), {a, b}, {{DType::Float32, {1, 14, 5}}});
  for_each_isa([&] {
    const Tensor y = run_kernel(kernel_case);
    for (size_t i = 0; i < y.numel(); ++i) {
      EXPECT_EQ(std::isnan(y.data<float>()[i]), i / 5 == 3) << i;
    }
  });
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
