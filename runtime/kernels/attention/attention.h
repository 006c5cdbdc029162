// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <optional>

#include "attention_problem.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// Query, key and value have one rank, 2 or more, and the same sizes before the last two axes, but that one head (axis
// -3) of key and value may serve several neighbouring heads of query.
struct AttentionParameters {
  Shape query; // [..., rows, width]
  Shape key; // [..., keys, width]
  Shape value; // [..., keys, value width]
  std::optional<Shape> mask; // broadcasts to [..., rows, keys], with query's heads
  bool mask_is_bool = false; // true: may look at the key; else Float32, added to the scores
  float scale = 1; // of the scores
  bool causal = false; // row i sees keys 0 to start + i
  size_t start = 0;
  bool by_token = false; // axes -2 and -3 in memory are swapped, but not those of the mask
  bool bfloat16 = false; // rounds both sides of both products to this. REQUIRES: bfloat16_tile(), no Int8
  DType type = DType::Float32; // of key and value: this, BFloat16, Float16, or Int8 with a last axis that is not empty
};

// Inputs: query, key, value, and the mask or nothing, dense; of an Int8 key and value their scale and zero point, one
// for each row: scale of key, zero point of key, those of value. Output: softmax(query key^T scale + mask) value,
// [..., rows, value width]; zeros for a row that sees nothing. What no row may look at is not read, 256 keys at a time:
// masks are looked at first.
class Attention {
 public:
  size_t reshape(const AttentionParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  size_t scratch_of_rows(size_t num_threads);
  // Blocks of keys up to the last one that any row sees.
  size_t visible_blocks(const AttentionProblem& problem) const;
  void run_few(const AttentionProblem& problem, size_t parts, float* scratch, pthreadpool_t pool) const;

  const AttentionBlocks blocks_ = attention_blocks();
  const AttentionFewRows few_rows_ = attention_few_rows();
  AttentionProblem problem_;
  bool few_ = false; // rows
  AttentionFewRows::Sizes sizes_;
  size_t heads_at_once_ = 1; // at most
  size_t parts_offset_ = 0;
  size_t heads_ = 0; // of keys, over all batches
  size_t block_rows_ = 0;
  size_t scratch_per_thread_ = 0;
  const FindVisibleKeys find_visible_keys_ = find_visible_keys();
  size_t mask_rows_ = 0; // 0: the keys of its rows are not told apart
  size_t visible_keys_offset_ = 0; // bytes
};

} // namespace executorch::backends::et_xnnpack
