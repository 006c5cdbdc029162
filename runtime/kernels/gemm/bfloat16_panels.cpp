// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_panels.h"

#include <algorithm>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/bfloat16_panels.cpp"
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

HWY_EXPORT(finish_bfloat16);

FinishBFloat16 bfloat16_finish() {
  return ETX_DISPATCH(finish_bfloat16);
}

size_t bfloat16_panels_bytes(size_t columns, size_t depth) {
  return round_up(columns, kBFloat16Columns / 2) * bfloat16_tile()->padded(depth) * sizeof(uint16_t);
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
  const size_t depth = bfloat16_tile()->padded(taps.size() * padded_run);
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

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
