// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matrix_product.h"

#include <algorithm>

#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/common/parallel.h"
#include "matrix_product_layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/matrix_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

static_assert(kBlockRows % kRows == 0 && kBlockColumns % kTile == 0, "a block is made of whole register tiles");

// The output for `rows` rows of sums.
void finish(
    const MatrixProduct& p,
    const float* sums,
    size_t sums_stride,
    size_t rows,
    size_t columns,
    const float* bias,
    float* c) {
  const Vector min = hn::Set(kFloats, p.min), max = hn::Set(kFloats, p.max);
  for (size_t j = 0; j < columns; j += kLanes) {
    const size_t count = std::min(kLanes, columns - j);
    Vector add = hn::Zero(kFloats);
    if (bias != nullptr) {
      add = count == kLanes ? hn::LoadU(kFloats, bias + j) : hn::LoadN(kFloats, bias + j, count);
    }
    for (size_t i = 0; i < rows; ++i) {
      const Vector sum = hn::Add(hn::LoadU(kFloats, sums + i * sums_stride + j), add);
      const Vector y = clamped(sum, min, max);
      if (count == kLanes) {
        hn::StoreU(y, kFloats, c + i * p.c_stride + j);
      } else {
        hn::StoreN(y, kFloats, c + i * p.c_stride + j, count);
      }
    }
  }
}

// Packs `depth` rows of `columns` columns of b, kTile columns at a time; the last tile may be
// one vector wide.
void pack_b(const MatrixProduct& p, const float* b, size_t depth, size_t columns, float* to) {
  for (size_t j = 0; j < columns; j += kTile) {
    const size_t count = std::min(kTile, columns - j);
    const size_t width = count > kLanes ? kTile : kLanes;
    if (p.b_transposed) {
      pack(b + j * p.b_stride, p.b_stride, count, depth, width, 1, to + j * depth);
      continue;
    }
    for (size_t k = 0; k < depth; ++k) {
      const float* from = b + k * p.b_stride + j;
      float* out = to + j * depth + k * width;
      for (size_t n = 0; n < width; n += kLanes) {
        if (n + kLanes <= count) {
          hn::StoreU(hn::LoadU(kFloats, from + n), kFloats, out + n);
        } else {
          hn::StoreU(hn::LoadN(kFloats, from + n, count - n), kFloats, out + n);
        }
      }
    }
  }
}

// Rows [row, row + rows) and columns [column, column + columns) of matrix `batch`.
void multiply_block(
    const MatrixProduct& p, size_t batch, size_t row, size_t rows, size_t column, size_t columns, float* scratch) {
  const float* a = p.a + batch * p.a_batch + row * p.a_stride;
  const float* b = p.b + batch * p.b_batch + column * (p.b_transposed ? p.b_stride : 1);
  const MatrixProductLayout layout(p);
  float* packed_a = scratch;
  float* packed_b = scratch + layout.packed_b;
  float* sums = scratch + layout.sums;
  HWY_ALIGN float ones[kRows];
  std::fill_n(ones, kRows, 1.0f);
  for (size_t k = 0; k < p.depth; k += kDepth) {
    const size_t depth = std::min(kDepth, p.depth - k);
    for (size_t i = 0; i < rows; i += kRows) {
      pack(a + i * p.a_stride + k, p.a_stride, std::min(kRows, rows - i), depth, kRows, 1, packed_a + i * depth);
    }
    pack_b(p, b + k * (p.b_transposed ? 1 : p.b_stride), depth, columns, packed_b);
    for (size_t i = 0; i < rows; i += kRows) {
      with_rows(std::min(kRows, rows - i), [&](auto r_tag) HWY_ATTR {
        const auto tile = [&](auto n_tag, size_t j) HWY_ATTR {
          constexpr size_t N = decltype(n_tag)::value;
          multiply<decltype(r_tag)::value, N>(
              packed_a + i * depth,
              Constant<kRows>(),
              Constant<1>(),
              packed_b + j * depth,
              N * kLanes,
              depth,
              k == 0 ? nullptr : ones,
              sums + i * kBlockColumns + j,
              kBlockColumns);
        };
        for (size_t j = 0; j < columns; j += kTile) {
          if (columns - j > kLanes) {
            tile(Constant<kVectors>(), j);
          } else {
            tile(Constant<1>(), j);
          }
        }
      });
    }
  }
  if (p.depth == 0) {
    std::fill_n(sums, rows * kBlockColumns, 0.0f);
  }
  const float* bias = p.bias == nullptr ? nullptr : p.bias + batch * p.bias_batch + column;
  finish(p, sums, kBlockColumns, rows, columns, bias, p.c + batch * p.c_batch + row * p.c_stride + column);
}

// One row of a transposed b at a time, without packing: for few rows of a.
void multiply_few_rows(const MatrixProduct& p, size_t batch, size_t column, size_t columns) {
  const float* a = p.a + batch * p.a_batch;
  const float* b = p.b + batch * p.b_batch + column * p.b_stride;
  const float* bias = p.bias == nullptr ? nullptr : p.bias + batch * p.bias_batch + column;
  float* c = p.c + batch * p.c_batch + column;
  const size_t whole = p.depth / kLanes * kLanes;
  const size_t rest = p.depth - whole;
  // Four rows of b keep enough sums under way.
  for (size_t j = 0; j < columns; j += 4) {
    const size_t count = std::min<size_t>(4, columns - j);
    const float* rows[4];
    for (size_t n = 0; n < 4; ++n) {
      rows[n] = b + (j + std::min(n, count - 1)) * p.b_stride;
    }
    for (size_t i = 0; i < p.rows; ++i) {
      const float* x = a + i * p.a_stride;
      Vector sum[4];
      HWY_UNROLL(4)
      for (size_t n = 0; n < 4; ++n) {
        sum[n] = hn::Zero(kFloats);
      }
      for (size_t k = 0; k < whole; k += kLanes) {
        const Vector v = hn::LoadU(kFloats, x + k);
        HWY_UNROLL(4)
        for (size_t n = 0; n < 4; ++n) {
          sum[n] = hn::MulAdd(v, hn::LoadU(kFloats, rows[n] + k), sum[n]);
        }
      }
      if (rest > 0) {
        const Vector v = hn::LoadN(kFloats, x + whole, rest);
        HWY_UNROLL(4)
        for (size_t n = 0; n < 4; ++n) {
          sum[n] = hn::MulAdd(v, hn::LoadN(kFloats, rows[n] + whole, rest), sum[n]);
        }
      }
      float y[4];
      HWY_UNROLL(4)
      for (size_t n = 0; n < 4; ++n) {
        y[n] = hn::ReduceSum(kFloats, sum[n]);
      }
      for (size_t n = 0; n < count; ++n) {
        const float value = y[n] + (bias == nullptr ? 0 : bias[j + n]);
        const float raised = value < p.min ? p.min : value; // keeps NaN
        c[i * p.c_stride + j + n] = raised > p.max ? p.max : raised;
      }
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_block);
HWY_EXPORT(multiply_few_rows);

namespace {

constexpr size_t kFewRows = 3;
constexpr size_t kGrain = 32768; // multiplications
constexpr size_t kFewRowsColumns = 64; // of one piece of work

} // namespace

size_t matrix_product_scratch(const MatrixProduct& product, size_t num_threads) {
  return num_threads * MatrixProductLayout(product).end * sizeof(float);
}

void multiply_matrices(const MatrixProduct& p, void* scratch, pthreadpool_t pool) {
  const size_t work = p.batch * p.rows * p.columns * (p.depth + 1);
  if (work == 0) {
    return;
  }
  if (work < kGrain) {
    pool = nullptr;
  }
  if (p.b_transposed && p.rows <= kFewRows) {
    const auto function = ETX_DISPATCH(multiply_few_rows);
    const size_t pieces = (p.columns + kFewRowsColumns - 1) / kFewRowsColumns;
    const size_t grain = kGrain / (p.rows * (p.depth + 1) * kFewRowsColumns) + 1;
    parallel_for(pool, p.batch * pieces, grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t column = i % pieces * kFewRowsColumns;
        function(p, i / pieces, column, std::min(kFewRowsColumns, p.columns - column));
      }
    });
    return;
  }
  const auto function = ETX_DISPATCH(multiply_block);
  const size_t scratch_per_thread = MatrixProductLayout(p).end;
  const size_t row_blocks = (p.rows + kBlockRows - 1) / kBlockRows;
  const size_t column_blocks = (p.columns + kBlockColumns - 1) / kBlockColumns;
  parallel_for_with_thread(pool, p.batch * row_blocks * column_blocks, [&](size_t thread, size_t i) {
    const size_t column = i % column_blocks * kBlockColumns;
    const size_t row = i / column_blocks % row_blocks * kBlockRows;
    function(
        p,
        i / column_blocks / row_blocks,
        row,
        std::min(kBlockRows, p.rows - row),
        column,
        std::min(kBlockColumns, p.columns - column),
        static_cast<float*>(scratch) + thread * scratch_per_thread);
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
