// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_product.h"

#include <algorithm>

#include "bfloat16_panels.h"
#include "low_precision_product.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/bfloat16_rounding.h"

namespace executorch::backends::et_xnnpack {
namespace {

// So much of x is rounded at a time, and so much of that meets all panels, from a cache of the second level.
constexpr size_t kChunkBytes = 2 << 20, kBlockBytes = 256 << 10;
constexpr size_t kRoundingGrain = 1 << 14; // numbers

size_t padded_depth(size_t depth) {
  return bfloat16_tile()->padded(depth);
}

size_t row_stride(size_t depth) {
  return bfloat16_row_stride(padded_depth(depth));
}

size_t strip_bytes(const LowPrecisionProduct& p) {
  return kBFloat16Rows * row_stride(p.depth) * sizeof(uint16_t) + 1;
}

size_t rows_of_chunk(const LowPrecisionProduct& p) {
  return std::min(p.rows, kBFloat16Rows * (kChunkBytes / strip_bytes(p) + 1));
}

// Rows [row, row + rows) of x, rounded. Denormal numbers may become zero, for which products take them.
void round_rows(const LowPrecisionProduct& p, size_t row, size_t rows, uint16_t* to, pthreadpool_t pool) {
  const size_t stride = row_stride(p.depth), depth = padded_depth(p.depth);
  parallel_for(pool, rows, kRoundingGrain / (depth + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      static_cast<void>(round_to_bfloat16(p.x + (row + r) * p.x_stride, to + r * stride, p.depth));
      std::fill_n(to + r * stride + p.depth, depth - p.depth, uint16_t{0});
    }
  });
}

} // namespace

bool has_bfloat16_product() {
  return bfloat16_tile() != nullptr;
}

std::string bfloat16_layout() {
  return "BFloat16 panels of pairs, in multiples of " + std::to_string(bfloat16_tile()->depth_multiple);
}

size_t bfloat16_product_scratch(const LowPrecisionProduct& p) {
  const size_t rows = round_up(rows_of_chunk(p), bfloat16_tile()->whole_groups ? kBFloat16Rows : 1);
  return rows * row_stride(p.depth) * sizeof(uint16_t);
}

void multiply_bfloat16(const LowPrecisionProduct& p, void* scratch, pthreadpool_t pool) {
  uint16_t* const rounded = static_cast<uint16_t*>(scratch);
  BFloat16Output output;
  output.y = p.y;
  output.columns = p.columns;
  output.bias = p.bias;
  output.min = p.min;
  output.max = p.max;
  const size_t whole_row = 0, chunk = rows_of_chunk(p);
  BFloat16Rows x{};
  x.stride = row_stride(p.depth);
  x.taps = {&whole_row, 1};
  x.run = padded_depth(p.depth);
  for (size_t first = 0; first < p.rows; first += chunk) {
    const size_t rows = std::min(chunk, p.rows - first);
    round_rows(p, first, rows, rounded, pool);
    multiply_bfloat16_panels(
        p.panels,
        output,
        x,
        divide_up(rows, kBFloat16Rows),
        kBlockBytes / strip_bytes(p) + 1,
        [&](size_t i, BFloat16Rows* strip, BFloat16Offsets* offsets) {
          const auto offset_of = [&](size_t row) {
            return p.row_offsets != nullptr ? p.row_offsets[first + row] : (first + row) * p.y_stride;
          };
          return set_strip(rounded, rows, i, offset_of, strip, offsets);
        },
        pool);
  }
}

} // namespace executorch::backends::et_xnnpack
