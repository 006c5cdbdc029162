// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "edge_pad.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 65536; // bytes

// Short runs without a call; their last two steps overlap.
void copy_run(const char* x, char* y, size_t bytes) {
  constexpr size_t kStep = 32, kShort = 1024;
  if (bytes < kStep || bytes > kShort) {
    std::memcpy(y, x, bytes);
    return;
  }
  const size_t last = bytes - kStep;
  for (size_t i = 0; i < last; i += kStep) {
    std::memcpy(y + i, x + i, kStep);
  }
  std::memcpy(y + last, x + last, kStep);
}

} // namespace

size_t EdgePad::reshape(const EdgePadParameters& parameters, size_t) {
  x_ = parameters.x;
  y_ = parameters.y;
  before_ = parameters.before;
  padding_ = parameters.padding;
  last_ = 0;
  for (size_t axis = 0; axis < x_.rank; ++axis) {
    last_ = x_[axis] == y_[axis] ? last_ : axis;
  }
  block_ = x_.numel(last_ + 1, x_.rank) * parameters.element_size;
  return 0;
}

void EdgePad::run(const KernelArguments& arguments) const {
  const size_t row = y_[last_] * block_;
  parallel_for(arguments.pool, y_.numel(0, last_), kGrain / (row + 1) + 1, [&](size_t begin, size_t end) {
    switch (block_) {
      case 1:
        return copy_rows(arguments, begin, end, std::integral_constant<size_t, 1>());
      case 4:
        return copy_rows(arguments, begin, end, std::integral_constant<size_t, 4>());
      case 8:
        return copy_rows(arguments, begin, end, std::integral_constant<size_t, 8>());
      default:
        return copy_rows(arguments, begin, end, block_);
    }
  });
}

// The index on `axis` of x whose element is at index i of y.
size_t EdgePad::source(size_t axis, size_t i) const {
  const size_t before = before_[axis], size = x_[axis];
  if (i >= before && i - before < size) {
    return i - before;
  }
  const bool is_before = i < before;
  const size_t distance = is_before ? before - i : i - before - size + 1; // from the edge, 1 or more
  switch (padding_) {
    case EdgePadding::Reflect:
      return is_before ? distance : size - 1 - distance;
    case EdgePadding::Circular:
      return is_before ? size - distance : distance - 1;
    case EdgePadding::Replicate:
      break;
  }
  return is_before ? 0 : size - 1;
}

// Rows [begin, end) of the output along the last axis that is padded; `block` is block_, perhaps as a constant.
template <typename Block>
void EdgePad::copy_rows(const KernelArguments& arguments, size_t begin, size_t end, Block block) const {
  const size_t x_row = x_[last_] * block, y_row = y_[last_] * block;
  char* y = arguments.output<char>(0) + begin * y_row;
  for (size_t i = begin; i < end;) {
    // Those that differ on the axis before only.
    const size_t size = last_ == 0 ? 1 : y_[last_ - 1];
    size_t part = 0, stride = 1;
    for (size_t axis = last_, rest = i / size; axis-- > 1; rest /= y_[axis - 1]) {
      stride *= x_[axis];
      part += source(axis - 1, rest % y_[axis - 1]) * stride;
    }
    const char* const x = arguments.input<char>(0) + part * x_row;
    const size_t first = i % size, count = std::min(end - i, size - first);
    for (size_t k = 0; k < count; ++k, y += y_row) {
      copy_row(x + (last_ == 0 ? 0 : source(last_ - 1, first + k)) * x_row, y, block);
    }
    i += count;
  }
}

template <typename Block>
void EdgePad::copy_row(const char* x, char* y, Block block) const {
  const size_t size = x_[last_], first = before_[last_], behind = y_[last_] - first - size;
  char* const middle = y + first * block;
  char* const after = middle + size * block;
  copy_run(x, middle, size * block);
  switch (padding_) {
    case EdgePadding::Reflect:
      for (size_t i = 1; i <= first; ++i) {
        std::memcpy(middle - i * block, x + i * block, block);
      }
      for (size_t i = 0; i < behind; ++i) {
        std::memcpy(after + i * block, x + (size - 2 - i) * block, block);
      }
      return;
    case EdgePadding::Circular:
      std::memcpy(y, x + (size - first) * block, first * block);
      std::memcpy(after, x, behind * block);
      return;
    case EdgePadding::Replicate:
      break;
  }
  for (size_t i = 0; i < first; ++i) {
    std::memcpy(y + i * block, x, block);
  }
  for (size_t i = 0; i < behind; ++i) {
    std::memcpy(after + i * block, x + (size - 1) * block, block);
  }
}

} // namespace executorch::backends::et_xnnpack
