// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention.h"

#include <algorithm>

#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Rows of one block; multiples of every panel height where possible.
constexpr size_t kMaxRows = 240, kMinRows = 48, kRowMultiple = 24;
constexpr size_t kMinParallelWork = 100000; // multiplications

} // namespace

size_t Attention::reshape(const AttentionParameters& parameters, size_t num_threads) {
  const Shape& query = parameters.query;
  const Shape& key = parameters.key;
  const size_t rank = query.rank;
  problem_ = {};
  problem_.rows = query[rank - 2];
  problem_.width = query[rank - 1];
  problem_.keys = key[rank - 2];
  problem_.value_width = parameters.value.last();
  problem_.group = rank < 3 || key[rank - 3] == 0 ? 1 : query[rank - 3] / key[rank - 3];
  problem_.scale = parameters.scale;
  problem_.causal = parameters.causal;
  heads_ = key.numel(0, rank - 2);
  if (parameters.mask.has_value()) {
    const Shape& mask = *parameters.mask;
    problem_.mask_is_bool = parameters.mask_is_bool;
    const size_t shift = rank - mask.rank;
    size_t stride = 1;
    for (size_t axis = rank; axis-- > shift;) {
      problem_.mask_strides[axis] = mask[axis - shift] == 1 ? 0 : stride;
      stride *= mask[axis - shift];
    }
    problem_.mask_key_stride = problem_.mask_strides[rank - 1];
    problem_.query_shape = query;
  }

  few_ = problem_.rows_per_head() <= AttentionFewRows::kMaxRows && !problem_.causal;
  if (few_) {
    sizes_ = few_rows_.sizes(problem_);
    parts_ = (problem_.keys + sizes_.part_keys - 1) / sizes_.part_keys;
    scratch_per_thread_ = sizes_.scratch;
    parts_offset_ = scratch_per_thread_ * num_threads;
    return (parts_offset_ + heads_ * parts_ * sizes_.part) * sizeof(float);
  }

  // Long blocks pack keys less often; short ones keep all threads busy.
  const size_t total = problem_.rows_per_head();
  size_t blocks = (total + kMaxRows - 1) / kMaxRows;
  if (num_threads > 1 && heads_ > 0 && heads_ < 4 * num_threads) {
    blocks = std::max(blocks, std::min((4 * num_threads + heads_ - 1) / heads_, total / kMinRows));
  }
  blocks = std::max<size_t>(blocks, 1);
  block_rows_ = ((total + blocks - 1) / blocks + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
  block_rows_ = std::min(block_rows_, total);
  scratch_per_thread_ = blocks_.scratch(problem_, block_rows_);
  return scratch_per_thread_ * sizeof(float) * num_threads;
}

void Attention::run(const KernelArguments& arguments) const {
  AttentionProblem problem = problem_;
  problem.query = arguments.input<float>(0);
  problem.key = arguments.input<float>(1);
  problem.value = arguments.input<float>(2);
  problem.mask = arguments.input<void>(3);
  problem.output = arguments.output<float>(0);
  const size_t total = problem.rows_per_head();
  if (heads_ == 0 || total == 0 || problem.value_width == 0) {
    return;
  }
  const size_t work = heads_ * total * problem.keys * (problem.width + problem.value_width);
  const pthreadpool_t pool = work < kMinParallelWork ? nullptr : arguments.pool;
  if (few_) {
    return run_few(problem, static_cast<float*>(arguments.scratch), pool);
  }
  const size_t blocks = (total + block_rows_ - 1) / block_rows_;
  parallel_for_with_thread(pool, heads_ * blocks, [&](size_t thread, size_t i) {
    const size_t begin = i % blocks * block_rows_;
    const size_t end = std::min(begin + block_rows_, total);
    float* scratch = static_cast<float*>(arguments.scratch) + thread * scratch_per_thread_;
    blocks_.run(problem, i / blocks, begin, end, scratch);
  });
}

void Attention::run_few(const AttentionProblem& problem, float* scratch, pthreadpool_t pool) const {
  const size_t rows = problem.rows_per_head();
  float* const parts = scratch + parts_offset_; // behind what the threads have for themselves
  parallel_for_with_thread(pool, heads_ * parts_, [&](size_t thread, size_t i) {
    const size_t begin = i % parts_ * sizes_.part_keys;
    const size_t end = std::min(begin + sizes_.part_keys, problem.keys);
    few_rows_.run(problem, i / parts_, begin, end, scratch + thread * scratch_per_thread_, parts + i * sizes_.part);
  });
  const size_t width = problem.value_width, part_row = sizes_.part / rows;
  parallel_for(pool, heads_ * rows, kMinParallelWork / (parts_ * width + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      float* const first = parts + i / rows * parts_ * sizes_.part + i % rows * part_row;
      few_rows_.join(problem, first, parts_, sizes_.part, problem.output + i * width);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
