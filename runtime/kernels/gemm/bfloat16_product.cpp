// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_product.h"

#include <algorithm>
#include <array>

#include "bfloat16_panels.h"
#include "low_precision_product.h"
#include "runtime/kernels/simd/bfloat16_rounding.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/bfloat16_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

void finish_bfloat16(
    const BFloat16Output& output, const float* sums, const size_t* offsets, size_t rows, size_t column) {
  const Vector min = hn::Set(kFloats, output.min), max = hn::Set(kFloats, output.max);
  const size_t columns = std::min(kBFloat16Columns, output.columns - column);
  for (size_t j = 0; j < columns; j += kLanes) {
    const size_t count = std::min(kLanes, columns - j), from = column + j;
    const Vector bias = output.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, output.bias + from, count);
    for (size_t r = 0; r < rows; ++r) {
      if (offsets[r] == kNoRow) {
        continue;
      }
      const Vector sum = hn::Add(hn::LoadU(kFloats, sums + r * kBFloat16Columns + j), bias);
      const Vector y = clamped(sum, min, max);
      float* const to = output.y + offsets[r] + from;
      if (count == kLanes) {
        hn::StoreU(y, kFloats, to);
      } else {
        hn::StoreN(y, kFloats, to, count);
      }
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(finish_bfloat16);

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

FinishBFloat16 bfloat16_finish() {
  return ETX_DISPATCH(finish_bfloat16);
}

size_t bfloat16_panels_bytes(size_t columns, size_t depth) {
  return round_up(columns, kBFloat16Columns / 2) * padded_depth(depth) * sizeof(uint16_t);
}

void pack_bfloat16(
    const uint16_t* weight,
    size_t columns,
    size_t stride,
    Span<const size_t> taps,
    size_t run,
    size_t padded_run,
    void* panels) {
  constexpr size_t kPiece = 32; // of a run, which stays in a cache of the first level with what is written of a panel
  uint16_t* to = static_cast<uint16_t*>(panels);
  const size_t depth = padded_depth(taps.size() * padded_run);
  for (size_t column = 0; column < columns; column += kBFloat16Columns) {
    const size_t count = std::min(kBFloat16Columns, columns - column), width = bfloat16_panel_width(count);
    if (count < width || run < padded_run || taps.size() * padded_run < depth) {
      std::fill_n(to, depth * width, uint16_t{0});
    }
    for (size_t t = 0; t < taps.size(); ++t) {
      for (size_t i = 0; i < run; i += kPiece) {
        const size_t end = std::min(run, i + kPiece);
        for (size_t j = 0; j < count; ++j) {
          const uint16_t* const from = weight + (column + j) * stride + taps[t] * run;
          for (size_t k = i; k < end; ++k) {
            const size_t at = t * padded_run + k;
            to[at / 2 * 2 * width + 2 * j + at % 2] = from[k];
          }
        }
      }
    }
    to += depth * width;
  }
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
        (rows + kBFloat16Rows - 1) / kBFloat16Rows,
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
#endif // HWY_ONCE
