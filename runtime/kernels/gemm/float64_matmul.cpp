// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "float64_matmul.h"

#include <algorithm>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/float64_matmul.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

// Plain loops, of which the compiler makes vectors: not all instruction sets have Highway's of Float64.
HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kPanel = Float64Tile::kColumns;

// sums[r][j] = sum over k of a[r][k] * panel[k][j]
template <size_t R>
HWY_INLINE void multiply(const double* a, size_t stride, const double* panel, size_t depth, double (*sums)[kPanel]) {
  double totals[R][kPanel] = {};
  for (size_t k = 0; k < depth; ++k) {
    for (size_t r = 0; r < R; ++r) {
      const double factor = a[r * stride + k];
      for (size_t j = 0; j < kPanel; ++j) {
        totals[r][j] += factor * panel[k * kPanel + j];
      }
    }
  }
  for (size_t r = 0; r < R; ++r) {
    std::copy_n(totals[r], kPanel, sums[r]);
  }
}

void multiply_rows(
    size_t rows, const double* a, size_t stride, const double* panel, size_t depth, double (*sums)[kPanel]) {
  switch (rows) {
    case 1:
      return multiply<1>(a, stride, panel, depth, sums);
    case 2:
      return multiply<2>(a, stride, panel, depth, sums);
    case 3:
      return multiply<3>(a, stride, panel, depth, sums);
    default:
      return multiply<Float64Tile::kRows>(a, stride, panel, depth, sums);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_rows);

namespace {

constexpr size_t kRows = Float64Tile::kRows, kPanel = Float64Tile::kColumns, kDepth = Float64Tile::kDepth;
constexpr size_t kRowBlock = 64; // rows of a for which a panel of b is packed once

// Columns [first, first + columns) and rows [begin, begin + depth) of b; zeros beside them.
void pack(
    const Float64MatMulParameters& p,
    const double* b,
    size_t first,
    size_t columns,
    size_t begin,
    size_t depth,
    double* panel) {
  const size_t row = p.b_transposed ? 1 : p.columns, column = p.b_transposed ? p.depth : 1;
  for (size_t k = 0; k < depth; ++k, panel += kPanel) {
    const double* const from = b + (begin + k) * row + first * column;
    for (size_t j = 0; j < kPanel; ++j) {
      panel[j] = j < columns ? from[j * column] : 0;
    }
  }
}

} // namespace

size_t Float64MatMul::reshape(const Float64MatMulParameters& parameters, size_t num_threads) {
  parameters_ = parameters;
  return num_threads * kDepth * kPanel * sizeof(double);
}

void Float64MatMul::run(const KernelArguments& arguments) const {
  const Float64MatMulParameters& p = parameters_;
  const auto multiply = ETX_DISPATCH(multiply_rows);
  const double* const bias = arguments.input<double>(2);
  const size_t panels = divide_up(p.columns, kPanel), blocks = divide_up(p.rows, kRowBlock);
  parallel_for_with_thread(arguments.pool, p.batch * panels * blocks, [&](size_t thread, size_t i) {
    const size_t batch = i / (panels * blocks), block = i % blocks * kRowBlock;
    const size_t first = i / blocks % panels * kPanel, columns = std::min(kPanel, p.columns - first);
    const size_t last = std::min(block + kRowBlock, p.rows);
    const double* const a = arguments.input<double>(0) + batch * p.rows * p.depth;
    const double* const b = arguments.input<double>(1) + batch * p.depth * p.columns;
    double* const c = arguments.output<double>(0) + batch * p.rows * p.columns;
    double* const panel = static_cast<double*>(arguments.scratch) + thread * kDepth * kPanel;
    size_t begin = 0;
    do { // at least once: sums of nothing are the bias, too
      const size_t depth = std::min(kDepth, p.depth - begin);
      pack(p, b, first, columns, begin, depth, panel);
      for (size_t row = block; row < last; row += kRows) {
        const size_t rows = std::min(kRows, last - row);
        double sums[kRows][kPanel];
        multiply(rows, a + row * p.depth + begin, p.depth, panel, depth, sums);
        for (size_t r = 0; r < rows; ++r) {
          double* const to = c + (row + r) * p.columns + first;
          for (size_t j = 0; j < columns; ++j) {
            const double before = begin != 0 ? to[j] : bias != nullptr ? bias[first + j] : 0;
            to[j] = before + sums[r][j];
          }
        }
      }
      begin += depth;
    } while (begin < p.depth);
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
