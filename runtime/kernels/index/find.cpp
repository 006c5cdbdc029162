// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "find.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlock = 4096; // elements that a thread looks at in a row
constexpr int64_t kMaxRows = int64_t{1} << 40;

size_t num_blocks(size_t count) {
  return divide_up(count, kBlock);
}

// Turns how many rows each block has into where its first one is; returns how many there are.
size_t sum_before(size_t* rows, size_t count) {
  size_t sum = 0;
  for (size_t b = 0; b < count; ++b) {
    const size_t of_block = rows[b];
    rows[b] = sum;
    sum += of_block;
  }
  return sum;
}

} // namespace

size_t Nonzero::reshape(const Shape& x, size_t) {
  x_ = x;
  return num_blocks(x.numel()) * sizeof(size_t);
}

size_t Nonzero::find_size(const KernelArguments& arguments) const {
  const auto* const x = arguments.input<unsigned char>(0);
  auto* const rows = static_cast<size_t*>(arguments.scratch);
  const size_t numel = x_.numel();
  parallel_for(arguments.pool, num_blocks(numel), 4, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      uint32_t count = 0;
      for (size_t i = b * kBlock; i < std::min(numel, (b + 1) * kBlock); ++i) {
        count += x[i] != 0;
      }
      rows[b] = count;
    }
  });
  return sum_before(rows, num_blocks(numel));
}

void Nonzero::run(const KernelArguments& arguments) const {
  const auto* const x = arguments.input<unsigned char>(0);
  const auto* const rows = static_cast<const size_t*>(arguments.scratch);
  const size_t numel = x_.numel();
  if (x_.rank == 0) {
    return;
  }
  parallel_for(arguments.pool, num_blocks(numel), 4, [&](size_t begin, size_t end) {
    write(x, begin * kBlock, std::min(numel, end * kBlock), arguments.output<int64_t>(0) + rows[begin] * x_.rank);
  });
}

// Elements `begin` to `end`.
void Nonzero::write(const unsigned char* x, size_t begin, size_t end, int64_t* y) const {
  if (x_.rank == 1) {
    for (size_t i = begin; i < end; ++i) {
      if (x[i] != 0) {
        *y++ = static_cast<int64_t>(i);
      }
    }
    return;
  }
  std::array<size_t, kMaxRank> index{};
  size_t rest = begin;
  for (size_t axis = x_.rank; axis-- > 0;) {
    index[axis] = rest % x_[axis];
    rest /= x_[axis];
  }
  const size_t last = x_.rank - 1;
  for (size_t i = begin; i < end; ++i) {
    if (x[i] != 0) {
      y = std::copy_n(index.begin(), x_.rank, y);
    }
    ++index[last];
    for (size_t axis = last; axis > 0 && index[axis] == x_[axis]; --axis) {
      index[axis] = 0;
      ++index[axis - 1];
    }
  }
}

size_t RepeatIndices::reshape(const RepeatIndicesParameters& parameters, size_t) {
  parameters_ = parameters;
  return 0;
}

int64_t RepeatIndices::repeats(const KernelArguments& arguments, size_t i) const {
  return parameters_.dtype == DType::Int32 ? arguments.input<int32_t>(0)[i] : arguments.input<int64_t>(0)[i];
}

size_t RepeatIndices::find_size(const KernelArguments& arguments) const {
  int64_t sum = 0;
  for (size_t i = 0; i < parameters_.count; ++i) {
    const int64_t of_index = repeats(arguments, i);
    if (of_index < 0) {
      *arguments.status = failure(Error::InvalidArgument, "index %zu is to be repeated %" PRId64 " times", i, of_index);
      return 0;
    }
    sum += std::min(of_index, kMaxRows + 1);
    if (sum > kMaxRows) {
      *arguments.status = failure(Error::InvalidArgument, "the repeats are more than 2^40 together");
      return 0;
    }
  }
  return static_cast<size_t>(sum);
}

void RepeatIndices::run(const KernelArguments& arguments) const {
  int64_t* y = arguments.output<int64_t>(0);
  for (size_t i = 0; i < parameters_.count; ++i) {
    y = std::fill_n(y, repeats(arguments, i), static_cast<int64_t>(i));
  }
}

} // namespace executorch::backends::et_xnnpack
