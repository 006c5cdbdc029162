// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <executorch/runtime/core/span.h>
#include <pthreadpool.h>

#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// Products of floats with weights of low precision, Float16, BFloat16 or Int8, which stay so in memory, packed once in
// panels of columns; weights of Float32 can be packed so, too. QuantizedLinear has rows of weights as they are, with
// several scales in a column, and Int4Linear those of 4 bits.

// What a weight of integers stands for: (q - zero_point) * scale, with one of each for all of it or one for each
// index of its first axis. Empty for floats.
struct WeightScales {
  Span<const float> scale;
  Span<const int32_t> zero_point; // as many
};

// The same with one of each for each index of the first axis.
class ChannelScales {
 public:
  Status assign(const WeightScales& scales, size_t channels);

  // Null for floats.
  const float* scale() const {
    return scale_.empty() ? nullptr : scale_.data();
  }
  // Null, too, if all are 0.
  const float* zero_point() const {
    return zero_point_.empty() ? nullptr : zero_point_.data();
  }

 private:
  Array<float> scale_, zero_point_;
};

// How products compute with a weight. It goes through all that packs and multiplies it.
struct LowPrecision {
  DType type = DType::Float16; // of the weight
  // Of a weight of BFloat16: x may be rounded to it. It is where the CPU has instructions that multiply both.
  bool rounds_x = false;
  // Of a weight of Int8, of one matrix: x may be converted to fixed point. It is where the CPU has instructions for
  // that.
  bool fixed_point = false;
  // Of a weight of Float32: it is multiplied in blocks (block_product.h).
  bool in_blocks = false;
};
constexpr LowPrecision kFloat32InBlocks{DType::Float32, /*rounds_x=*/false, /*fixed_point=*/false, /*in_blocks=*/true};

// y[i][j] = clamp(bias[j] + sum over k of x[i][k] * w[j][k]) with a weight in panels of columns.
struct LowPrecisionProduct {
  const float* x = nullptr;
  size_t x_stride = 0; // floats from one row to the next
  const float* packed_rows = nullptr; // x as multiply_low_precision() packs it
  const void* panels = nullptr;
  LowPrecision precision;
  // If not null, `panels` is a weight in another form, of which it writes columns [column, column + width) as a panel
  // of floats, [depth, width], with zeros for columns that there are not. `precision` says Float32.
  void (*write_panel)(const void* panels, size_t column, size_t width, float* to) = nullptr;
  const float* scale = nullptr; // of each column; null unless of integers
  const float* zero_point = nullptr; // likewise, or all are 0
  const float* bias = nullptr; // may be null
  bool adds = false; // to what is in y, instead of the bias; not with `rounds_x` or `fixed_point`
  // Takes the panels from the last to the first. Of a weight that just does not fit a cache, products that go there and
  // back in turns find half of it there.
  bool backward = false;
  float* y = nullptr;
  size_t y_stride = 0;
  const size_t* row_offsets = nullptr; // if not null, where in y each row begins
  size_t rows = 0, depth = 0, columns = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// What panels are like: a part of the name of a packed layout.
std::string low_precision_layout(LowPrecision precision);
size_t low_precision_panels_bytes(LowPrecision precision, size_t columns, size_t depth);

// Writes panels of a matrix with `stride` elements from one column to the next, each of `taps` runs of `run`
// elements, of which tap t begins at taps[t] * run.
void pack_low_precision(
    LowPrecision precision,
    const void* weight,
    size_t columns,
    size_t stride,
    Span<const size_t> taps,
    size_t run,
    void* panels);

// Bytes of scratch memory that multiply_low_precision() needs for these sizes, whatever the pointers.
size_t low_precision_product_scratch(const LowPrecisionProduct& product, size_t num_threads);

// `scratch` is 64-byte aligned.
void multiply_low_precision(const LowPrecisionProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
