// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matrix_product.h"

#include <algorithm>
#include <utility>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/avx512.h"
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

constexpr size_t kRegisters = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64 ? 32 : 16;
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
    if (p.has_one_bias && bias != nullptr) {
      add = hn::Set(kFloats, *bias);
    } else if (bias != nullptr) {
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

// The sums of R rows of a with `columns` columns of b, less than a vector.
template <size_t R>
void sum_last_columns(const MatrixProduct& p, const float* a, const float* b, size_t columns, float* sums) {
  Vector sum[R][1];
  HWY_UNROLL(4)
  for (size_t r = 0; r < R; ++r) {
    sum[r][0] = hn::Zero(kFloats);
  }
  for (size_t k = 0; k < p.depth; ++k) {
    const Vector row[1] = {hn::LoadN(kFloats, b + k * p.b_stride, columns)};
    add_products(a + k, p.a_stride, row, sum);
  }
  HWY_UNROLL(4)
  for (size_t r = 0; r < R; ++r) {
    hn::StoreU(sum[r][0], kFloats, sums + r * kUnpackedColumns);
  }
}

// The sums of R rows of a with `columns` columns of b, as they lie in memory.
template <size_t R>
void sum_rows(const MatrixProduct& p, const float* a, const float* b, size_t columns, float* sums) {
  constexpr size_t kWidest = std::min<size_t>(8, kRegisters / 2 / R);
  size_t j = 0;
  while (j + kLanes <= columns) {
    const auto sum = [&](auto n_tag) HWY_ATTR {
      constexpr size_t N = std::min(decltype(n_tag)::value, kWidest);
      multiply<R, N>(
          a, Constant<1>(), p.a_stride, b + j, p.b_stride, p.depth, /*keep=*/nullptr, sums + j, kUnpackedColumns);
      return N * kLanes;
    };
    const size_t vectors = std::min((columns - j) / kLanes, kWidest);
    j += vectors >= 8  ? sum(Constant<8>())
        : vectors >= 4 ? sum(Constant<4>())
        : vectors >= 2 ? sum(Constant<2>())
                       : sum(Constant<1>());
  }
  if (j < columns) {
    sum_last_columns<R>(p, a, b + j, columns - j, sums + j);
  }
}

// The same where the columns of b are rows in memory.
template <size_t R>
void sum_transposed_rows(const MatrixProduct& p, const float* a, const float* b, size_t columns, float* sums) {
  constexpr size_t kTogether = kLanes / R;
  const size_t whole = p.depth / kLanes * kLanes, rest = p.depth - whole;
  for (size_t j = 0; j < columns; j += kTogether) {
    const float* rows[kTogether];
    for (size_t n = 0; n < kTogether; ++n) {
      rows[n] = b + std::min(j + n, columns - 1) * p.b_stride;
    }
    Vector sum[kLanes];
    HWY_UNROLL(16)
    for (size_t n = 0; n < kLanes; ++n) {
      sum[n] = hn::Zero(kFloats);
    }
    const auto add = [&](const auto& load) HWY_ATTR {
      Vector x[R];
      HWY_UNROLL(4)
      for (size_t r = 0; r < R; ++r) {
        x[r] = load(a + r * p.a_stride);
      }
      HWY_UNROLL(16)
      for (size_t n = 0; n < kTogether; ++n) {
        const Vector row = load(rows[n]);
        HWY_UNROLL(4)
        for (size_t r = 0; r < R; ++r) {
          sum[r * kTogether + n] = hn::MulAdd(x[r], row, sum[r * kTogether + n]);
        }
      }
    };
    for (size_t k = 0; k < whole; k += kLanes) {
      add([&](const float* from) HWY_ATTR { return hn::LoadU(kFloats, from + k); });
    }
    if (rest > 0) {
      add([&](const float* from) HWY_ATTR { return hn::LoadN(kFloats, from + whole, rest); });
    }
    const Vector all = sums_of_lanes(sum);
    if constexpr (R == 1) {
      hn::StoreU(all, kFloats, sums + j);
    } else {
      HWY_ALIGN float lanes[kLanes];
      hn::Store(all, kFloats, lanes);
      HWY_UNROLL(4)
      for (size_t r = 0; r < R; ++r) {
        std::copy_n(lanes + r * kTogether, kTogether, sums + r * kUnpackedColumns + j);
      }
    }
  }
}

// Without packing.
void multiply_few_rows(const MatrixProduct& p, size_t batch, size_t column, size_t columns) {
  const float* const a = p.a + batch * p.a_batch;
  const float* const b = p.b + batch * p.b_batch + column * (p.b_transposed ? p.b_stride : 1);
  HWY_ALIGN float sums[kMaxUnpackedRows * kUnpackedColumns];
  for (size_t i = 0; i < p.rows;) {
    const auto sum = [&](auto r_tag) HWY_ATTR {
      constexpr size_t R = decltype(r_tag)::value;
      const auto function = p.b_transposed ? &sum_transposed_rows<R> : &sum_rows<R>;
      function(p, a + i * p.a_stride, b, columns, sums + i * kUnpackedColumns);
      return R;
    };
    const size_t left = p.rows - i;
    i += left >= 4 ? sum(Constant<4>()) : left >= 2 ? sum(Constant<2>()) : sum(Constant<1>());
  }
  const float* const bias = p.bias == nullptr ? nullptr : p.bias + batch * p.bias_batch + (p.has_one_bias ? 0 : column);
  finish(p, sums, kUnpackedColumns, p.rows, columns, bias, p.c + batch * p.c_batch + column);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_block);
HWY_EXPORT(multiply_few_rows);

namespace {

constexpr size_t kGrain = 32768; // multiplications

// Whether neither it nor the result has gaps.
bool is_one_column(const MatrixProduct& p) {
  return p.columns == 1 && (p.b_transposed || p.b_stride == 1) && p.c_stride == 1;
}

// The same of one column: it is the row, and the rows of a are those of a transposed matrix.
MatrixProduct with_one_row(const MatrixProduct& p) {
  MatrixProduct product = p;
  std::swap(product.rows, product.columns);
  std::swap(product.a, product.b);
  std::swap(product.a_batch, product.b_batch);
  product.b_stride = p.a_stride;
  product.a_stride = p.depth;
  product.b_transposed = true;
  product.has_one_bias = true;
  product.c_stride = p.rows;
  return product;
}

} // namespace

size_t max_unpacked_rows() {
  // Measured beside XNNPACK's products, which pack, with AVX-512 and with AVX2 on Zen 5.
  return has_avx512() ? kMaxUnpackedRows : 4;
}

size_t matrix_product_scratch(const MatrixProduct& product, size_t num_threads) {
  if (product.rows <= max_unpacked_rows() || is_one_column(product)) {
    return 0;
  }
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
  if (p.rows > 1 && is_one_column(p)) {
    return multiply_matrices(with_one_row(p), scratch, pool);
  }
  if (p.rows <= max_unpacked_rows()) {
    const auto function = ETX_DISPATCH(multiply_few_rows);
    const size_t pieces = divide_up(p.columns, kUnpackedColumns);
    const size_t grain = kGrain / (p.rows * (p.depth + 1) * kUnpackedColumns) + 1;
    parallel_for(pool, p.batch * pieces, grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t column = i % pieces * kUnpackedColumns;
        function(p, i / pieces, column, std::min(kUnpackedColumns, p.columns - column));
      }
    });
    return;
  }
  const auto function = ETX_DISPATCH(multiply_block);
  const size_t scratch_per_thread = MatrixProductLayout(p).end;
  const size_t row_blocks = divide_up(p.rows, kBlockRows);
  const size_t column_blocks = divide_up(p.columns, kBlockColumns);
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
