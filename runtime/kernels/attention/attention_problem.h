// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/base/round_up.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// A row of numbers for each token and head, somewhere in a tensor.
struct AttentionRows {
  const void* data = nullptr;
  DType type = DType::Float32; // this, BFloat16, Float16 or Int8
  size_t width = 0;
  size_t heads = 1; // of one batch
  size_t token = 0, head = 0, batch = 0; // elements from one to the next
  // Of Int8, for each row: its numbers are (integer - zero_point) * scale.
  const float* scale = nullptr;
  const int8_t* zero_point = nullptr;

  // Element with which the row begins; heads are counted over all batches.
  size_t offset(size_t head_of_all, size_t token_of_head) const {
    return head_of_all / heads * batch + head_of_all % heads * head + token_of_head * token;
  }
};

// What the instruction-set variants of attention share. The `group` query heads that use one
// key head are to the inner loops one head with group * rows rows.
struct AttentionProblem {
  static constexpr size_t kBlockKeys = 256; // taken at a time

  AttentionRows query, key, value, output;
  const void* mask = nullptr;
  float* output_data = nullptr; // rows as `output` says

  size_t rows = 0; // of one query head
  size_t keys = 0;
  size_t group = 1;
  float scale = 1;
  bool bfloat16 = false; // more than a few rows round both sides of both products to this
  bool causal = false;
  size_t start = 0; // of causal rows: the last key that the first one sees

  bool mask_is_bool = false;
  size_t mask_key_stride = 0;
  std::array<size_t, kMaxRank> mask_strides{}; // for the axes of query_shape
  Shape query_shape; // [..., heads, rows, width], only with a mask
  // For each row of the mask and block of keys how many of these there are up to the last one that may be looked at;
  // null: not known.
  const uint16_t* visible_keys = nullptr;

  size_t rows_per_head() const {
    return group * rows;
  }
  size_t blocks() const {
    return divide_up(keys, kBlockKeys);
  }
  // Where row `row` of key head `head` is.
  size_t row_offset(const AttentionRows& x, size_t head, size_t row) const {
    return x.offset(head * group + row / rows, row % rows);
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
  // Of `count` keys from `first` on, the beginning of a block, how many there are up to the last one that this row
  // may look at.
  size_t visible(size_t head, size_t row, size_t first, size_t count) const {
    if (causal) {
      const size_t end = start + row % rows + 1;
      count = end <= first ? 0 : std::min(count, end - first);
    }
    if (visible_keys != nullptr && count > 0) {
      const size_t mask_row = mask_offset(head, row) / keys;
      count = std::min<size_t>(count, visible_keys[mask_row * blocks() + first / kBlockKeys]);
    }
    return count;
  }
};

// Finds out what `visible_keys` are, for rows [begin, end) of the mask. REQUIRES: it has an element for each key
using FindVisibleKeys = void (*)(const AttentionProblem& problem, size_t begin, size_t end, uint16_t* to);
FindVisibleKeys find_visible_keys();

// For blocks of query rows, with the instructions of this CPU.
struct AttentionBlocks {
  static constexpr size_t kMaxRows = 240;

  // Floats of scratch memory for a block of so many rows.
  size_t (*scratch)(const AttentionProblem& problem, size_t rows);
  // Computes rows [begin, end) of the query rows that share key head `head`.
  void (*run)(const AttentionProblem& problem, size_t head, size_t begin, size_t end, float* scratch);
};
AttentionBlocks attention_blocks();

// Key heads [begin, end) of one batch.
struct AttentionHeads {
  size_t begin = 0, end = 0;
};

// For few rows for each key head: their keys are taken in parts of kBlockKeys.
struct AttentionFewRows {
  static constexpr size_t kMaxRows = 4, kMaxHeads = 16;

  // Floats of the results of a part, and of what a thread needs for each head that it takes at once.
  struct Sizes {
    size_t part = 0, scratch = 0;
  };
  Sizes (*sizes)(const AttentionProblem& problem);
  // Writes what keys [begin, end) give to `parts`, those of one head `stride` floats behind those of the one before.
  void (*run)(
      const AttentionProblem& problem,
      AttentionHeads heads,
      size_t begin,
      size_t end,
      float* scratch,
      float* parts,
      size_t stride);
  // Joins the parts of one row, `stride` floats apart, which are overwritten.
  void (*join)(const AttentionProblem& problem, float* parts, size_t count, size_t stride, float* to);
};
AttentionFewRows attention_few_rows();

} // namespace executorch::backends::et_xnnpack
