// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// What stands beside x, as in PyTorch: x mirrored at its edge, the edge itself, or x once more.
enum class EdgePadding : uint8_t { Reflect, Replicate, Circular };

struct EdgePadParameters {
  Shape x, y; // of one rank, 1 or more
  std::array<size_t, kMaxRank> before{}; // elements of y before those of x
  EdgePadding padding = EdgePadding::Reflect; // no wider than x allows
  size_t element_size = 1; // bytes
};

// Input: x, dense. Output: y, which has x in it, and elements of x beside it.
class EdgePad {
 public:
  size_t reshape(const EdgePadParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  size_t source(size_t axis, size_t i) const;
  template <typename Block>
  void copy_rows(const KernelArguments& arguments, size_t begin, size_t end, Block block) const;
  template <typename Block>
  void copy_row(const char* x, char* y, Block block) const;

  Shape x_, y_;
  std::array<size_t, kMaxRank> before_{};
  EdgePadding padding_ = EdgePadding::Reflect;
  size_t last_ = 0; // the last axis that is padded
  size_t block_ = 0; // bytes behind that axis
};

} // namespace executorch::backends::et_xnnpack
