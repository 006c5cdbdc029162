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
  bool causal = false; // a row sees no key behind its own position
};

// Inputs: query, key, value, and the mask or nothing, dense. Output: softmax(query key^T scale + mask) value,
// [..., rows, value width]; zeros for a row that sees nothing.
class Attention {
 public:
  size_t reshape(const AttentionParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  void run_few(const AttentionProblem& problem, float* scratch, pthreadpool_t pool) const;

  const AttentionBlocks blocks_ = attention_blocks();
  const AttentionFewRows few_rows_ = attention_few_rows();
  AttentionProblem problem_;
  bool few_ = false; // rows
  AttentionFewRows::Sizes sizes_;
  size_t parts_ = 0, parts_offset_ = 0;
  size_t heads_ = 0; // of keys, over all batches
  size_t block_rows_ = 0;
  size_t scratch_per_thread_ = 0;
};

} // namespace executorch::backends::et_xnnpack
