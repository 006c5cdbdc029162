// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention.h"

#include <algorithm>
#include <utility>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/bfloat16_tile.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Rows of one block; multiples of every panel height where possible.
constexpr size_t kMinRows = 48, kFloat32Multiple = 24, kBFloat16Multiple = kBFloat16Rows;
constexpr size_t kMinParallelWork = 100000; // multiplications
constexpr size_t kMinParallelMask = 100000; // elements

// Where the rows of a dense tensor of this shape are.
AttentionRows rows_of(const Shape& shape, bool by_token) {
  const size_t rank = shape.rank;
  AttentionRows x;
  x.width = shape.last();
  const size_t inner = rank < 3 ? 1 : shape[rank - 2], outer = rank < 3 ? shape[rank - 2] : shape[rank - 3];
  if (rank < 3) {
    x.token = x.width;
    x.head = x.batch = outer * x.width;
  } else {
    x.heads = by_token ? inner : outer;
    x.token = by_token ? inner * x.width : x.width;
    x.head = by_token ? x.width : inner * x.width;
    x.batch = outer * inner * x.width;
  }
  x.heads = std::max<size_t>(x.heads, 1);
  return x;
}

Shape with_tokens_inside(Shape shape, bool by_token) {
  if (by_token) {
    std::swap(shape[shape.rank - 2], shape[shape.rank - 3]);
  }
  return shape;
}

} // namespace

size_t Attention::reshape(const AttentionParameters& parameters, size_t num_threads) {
  const Shape query = with_tokens_inside(parameters.query, parameters.by_token);
  const Shape key = with_tokens_inside(parameters.key, parameters.by_token);
  const size_t rank = query.rank;
  problem_ = {};
  problem_.query = rows_of(parameters.query, parameters.by_token);
  problem_.key = rows_of(parameters.key, parameters.by_token);
  problem_.value = rows_of(parameters.value, parameters.by_token);
  Shape output = parameters.query;
  output[rank - 1] = parameters.value.last();
  problem_.output = rows_of(output, parameters.by_token);
  problem_.rows = query[rank - 2];
  problem_.keys = key[rank - 2];
  problem_.group = rank < 3 || key[rank - 3] == 0 ? 1 : query[rank - 3] / key[rank - 3];
  problem_.scale = parameters.scale;
  problem_.bfloat16 = parameters.bfloat16;
  problem_.causal = parameters.causal;
  problem_.start = parameters.start;
  heads_ = key.numel(0, rank - 2);
  problem_.key.type = problem_.value.type = parameters.type;
  mask_rows_ = 0;
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
    if (problem_.mask_key_stride != 0 && problem_.keys > 0) {
      mask_rows_ = mask.numel() / problem_.keys;
    }
  }
  visible_keys_offset_ = scratch_of_rows(num_threads);
  return visible_keys_offset_ + mask_rows_ * problem_.blocks() * sizeof(uint16_t);
}

size_t Attention::scratch_of_rows(size_t num_threads) {
  const size_t total = problem_.rows_per_head();
  few_ = total <= AttentionFewRows::kMaxRows;
  if (few_) {
    sizes_ = few_rows_.sizes(problem_);
    const bool side_by_side = problem_.key.token > problem_.key.width;
    heads_at_once_ = side_by_side ? std::min(problem_.key.heads, AttentionFewRows::kMaxHeads) : 1;
    scratch_per_thread_ = sizes_.scratch * heads_at_once_;
    parts_offset_ = scratch_per_thread_ * num_threads;
    return (parts_offset_ + heads_ * problem_.blocks() * sizes_.part) * sizeof(float);
  }

  // Long blocks pack keys less often; short ones keep all threads busy.
  const size_t multiple = problem_.bfloat16 ? kBFloat16Multiple : kFloat32Multiple;
  const size_t max_rows = AttentionBlocks::kMaxRows / multiple * multiple;
  size_t blocks = divide_up(total, max_rows);
  if (num_threads > 1 && heads_ > 0 && heads_ < 4 * num_threads) {
    blocks = std::max(blocks, std::min(divide_up(4 * num_threads, heads_), total / kMinRows));
  }
  blocks = std::max<size_t>(blocks, 1);
  block_rows_ = std::min(round_up(divide_up(total, blocks), multiple), total);
  scratch_per_thread_ = blocks_.scratch(problem_, block_rows_);
  return scratch_per_thread_ * sizeof(float) * num_threads;
}

size_t Attention::visible_blocks(const AttentionProblem& problem) const {
  size_t count = problem.blocks();
  if (problem.causal) {
    const size_t keys = std::min(problem.keys, problem.start + problem.rows);
    count = divide_up(keys, AttentionProblem::kBlockKeys);
  }
  const auto sees = [&](size_t row, size_t block) { return problem.visible_keys[row * problem.blocks() + block] > 0; };
  while (problem.visible_keys != nullptr && count > 0) {
    for (size_t row = 0; row < mask_rows_; ++row) {
      if (sees(row, count - 1)) {
        return count;
      }
    }
    --count;
  }
  return count;
}

void Attention::run(const KernelArguments& arguments) const {
  AttentionProblem problem = problem_;
  problem.query.data = arguments.input<float>(0);
  problem.key.data = arguments.input<void>(1);
  problem.value.data = arguments.input<void>(2);
  problem.mask = arguments.input<void>(3);
  if (problem.key.type == DType::Int8) {
    problem.key.scale = arguments.input<float>(4);
    problem.key.zero_point = arguments.input<int8_t>(5);
    problem.value.scale = arguments.input<float>(6);
    problem.value.zero_point = arguments.input<int8_t>(7);
  }
  problem.output_data = arguments.output<float>(0);
  const size_t total = problem.rows_per_head();
  if (heads_ == 0 || total == 0 || problem.value.width == 0) {
    return;
  }
  if (mask_rows_ > 0) {
    auto* const visible = reinterpret_cast<uint16_t*>(static_cast<char*>(arguments.scratch) + visible_keys_offset_);
    parallel_for(arguments.pool, mask_rows_, kMinParallelMask / problem.keys + 1, [&](size_t begin, size_t end) {
      find_visible_keys_(problem, begin, end, visible);
    });
    problem.visible_keys = visible;
  }
  const size_t visible_blocks = this->visible_blocks(problem);
  const size_t keys = std::min(problem.keys, visible_blocks * AttentionProblem::kBlockKeys);
  const size_t work = heads_ * total * keys * (problem.query.width + problem.value.width);
  const pthreadpool_t pool = work < kMinParallelWork ? nullptr : arguments.pool;
  if (few_) {
    return run_few(problem, visible_blocks, static_cast<float*>(arguments.scratch), pool);
  }
  const size_t blocks = divide_up(total, block_rows_);
  parallel_for_with_thread(pool, heads_ * blocks, [&](size_t thread, size_t i) {
    const size_t begin = i % blocks * block_rows_;
    const size_t end = std::min(begin + block_rows_, total);
    float* scratch = static_cast<float*>(arguments.scratch) + thread * scratch_per_thread_;
    blocks_.run(problem, i / blocks, begin, end, scratch);
  });
}

void Attention::run_few(const AttentionProblem& problem, size_t parts, float* scratch, pthreadpool_t pool) const {
  constexpr size_t kPartKeys = AttentionProblem::kBlockKeys;
  const size_t rows = problem.rows_per_head();
  float* const results = scratch + parts_offset_; // behind what the threads have for themselves
  const size_t threads = threads_of(pool);
  const size_t at_once =
      threads == 1 ? heads_at_once_ : std::clamp<size_t>(heads_ * parts / (4 * threads), 1, heads_at_once_);
  const size_t groups = divide_up(problem.key.heads, at_once);
  parallel_for_with_thread(pool, heads_ / problem.key.heads * groups * parts, [&](size_t thread, size_t i) {
    const size_t begin = i % parts * kPartKeys;
    const size_t end = std::min(begin + kPartKeys, problem.keys);
    const size_t batch = i / parts / groups * problem.key.heads, first = i / parts % groups * at_once;
    const AttentionHeads heads{batch + first, batch + std::min(first + at_once, problem.key.heads)};
    float* const to = results + (heads.begin * parts + i % parts) * sizes_.part;
    few_rows_.run(problem, heads, begin, end, scratch + thread * scratch_per_thread_, to, parts * sizes_.part);
  });
  const size_t width = problem.value.width, part_row = sizes_.part / rows;
  parallel_for(pool, heads_ * rows, kMinParallelWork / (parts * width + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t head = i / rows, row = i % rows;
      float* const first = results + head * parts * sizes_.part + row * part_row;
      float* const to = problem.output_data + problem.row_offset(problem.output, head, row);
      few_rows_.join(problem, first, parts, sizes_.part, to);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
