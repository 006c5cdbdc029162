// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>

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

// For blocks of query rows, with the instructions of this CPU.
struct AttentionBlocks {
  // Floats of scratch memory for a block of so many rows.
  size_t (*scratch)(const AttentionProblem& problem, size_t rows);
  // Computes rows [begin, end) of the query rows that share key head `head`.
  void (*run)(const AttentionProblem& problem, size_t head, size_t begin, size_t end, float* scratch);
};
AttentionBlocks attention_blocks();

// For few rows for each key head, without a causal mask: their keys are taken in parts.
struct AttentionFewRows {
  static constexpr size_t kMaxRows = 4;

  // Keys of a part, and floats of its results and of the scratch memory of a thread.
  struct Sizes {
    size_t part_keys = 1, part = 0, scratch = 0;
  };
  Sizes (*sizes)(const AttentionProblem& problem);
  // Writes to `part` what keys [begin, end) of head `head` give.
  void (*run)(const AttentionProblem& problem, size_t head, size_t begin, size_t end, float* scratch, float* part);
  // Joins the parts of one row, `stride` floats apart, which are overwritten.
  void (*join)(const AttentionProblem& problem, float* parts, size_t count, size_t stride, float* to);
};
AttentionFewRows attention_few_rows();

} // namespace executorch::backends::et_xnnpack
