// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include <executorch/runtime/core/span.h>
#include <pthreadpool.h>

#include "runtime/base/memory.h"
#include "runtime/program/tensor_type.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// Products with weights that stay in the 16 or 8 bits in which the program has them.

// Convolutions and products in batches of smaller weights are faster with floats, and need little memory.
constexpr size_t kMinKeptWeights = 16384; // of one matrix

// Whether there are such products with a weight like this.
bool is_narrow(const TensorType& weight);

// What a weight of integers stands for: (q - zero_point) * scale, with one of each for each of
// `columns`, which its first axis counts. Empty for floats.
struct NarrowScales {
  Array<float> scale, zero_point;

  Status assign(const TensorType& weight, size_t columns);

  // Null if empty.
  const float* scales() const {
    return scale.empty() ? nullptr : scale.data();
  }
  const float* zero_points() const {
    return scale.empty() ? nullptr : zero_point.data();
  }
};

// y[i][j] = clamp(bias[j] + sum over k of x[i][k] * w[j][k]) with a weight in panels of columns: for each k one
// of each column.
struct NarrowProduct {
  const float* x = nullptr;
  size_t x_stride = 0; // floats from one row to the next
  const void* panels = nullptr;
  DType type = DType::Float16;
  const float* scale = nullptr; // of each column; null unless of integers
  const float* zero_point = nullptr; // likewise
  const float* bias = nullptr; // may be null
  float* y = nullptr;
  size_t y_stride = 0;
  const size_t* places = nullptr; // if not null, where in y each row begins
  size_t rows = 0, depth = 0, columns = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// What panels are like: a part of Kernel::packed_layout().
std::string narrow_layout(DType type);
size_t narrow_panels_bytes(DType type, size_t columns, size_t depth);

// Writes panels of a matrix with `stride` elements from one column to the next, each of `taps` runs of `run`
// elements, of which tap t begins at taps[t] * run. Elements are Float32 if `type` has 16 bits, else Int8.
void pack_narrow(
    DType type, const void* weight, size_t columns, size_t stride, Span<const size_t> taps, size_t run, void* panels);

// Bytes of scratch memory that multiply_narrow() needs for these sizes, whatever the pointers.
size_t narrow_product_scratch(const NarrowProduct& product, size_t num_threads);

void multiply_narrow(const NarrowProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
