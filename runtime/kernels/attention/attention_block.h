// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// What the instruction-set variants of attention share. The `group` query heads that use one
// key head lie behind one another, so to the inner loops they are one head with
// group * rows rows.
struct AttentionProblem {
  const float* query = nullptr;
  const float* key = nullptr;
  const float* value = nullptr;
  const void* mask = nullptr;
  float* output = nullptr;

  size_t rows = 0; // of one query head
  size_t keys = 0;
  size_t width = 0;
  size_t value_width = 0;
  size_t group = 1;
  float scale = 1;
  bool causal = false;

  bool mask_is_bool = false;
  size_t mask_key_stride = 0;
  std::array<size_t, kMaxRank> mask_strides{}; // for the axes of query_shape
  Shape query_shape; // only with a mask

  size_t rows_per_head() const {
    return group * rows;
  }
  // Element of the mask for the first key of row `row` of key head `head`.
  size_t mask_offset(size_t head, size_t row) const {
    const size_t rank = query_shape.rank;
    size_t offset = row % rows * mask_strides[rank - 2];
    size_t rest = head * group + row / rows;
    for (size_t axis = rank - 2; axis-- > 0;) {
      offset += rest % query_shape[axis] * mask_strides[axis];
      rest /= query_shape[axis];
    }
    return offset;
  }
};

// Of attention of few rows: keys of a part, and floats of its results and of the scratch memory of a thread.
struct AttentionFewSizes {
  size_t part_keys = 1, part = 0, scratch = 0;
};

} // namespace executorch::backends::et_xnnpack
