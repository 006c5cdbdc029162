// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/caches.h"
#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {

// What decides which nodes run in strips; `by node` and `by value` are those of the blob.
struct StripsProblem {
  const Blob& blob;
  Span<const TensorType> types; // by value
  const std::vector<Choice>& choices; // by node: with a kernel for strips if it may run in them
  const std::vector<bool>& can_fuse; // by node: whether it may be part of a pass
  const std::vector<std::vector<uint32_t>>& uncast; // by node: what it reads instead of what a Cast makes of it
  const std::vector<bool>& results; // by value: whether it is needed outside of steps
  const Caches& caches;
};

// Joins units that follow each other to one whose nodes run in strips of rows of images: a convolution with a window, and those
// of single pixels in front of it and behind it, each with the elementwise nodes that alone read what it makes. Nothing else
// reads what one makes for the next one. That pays where those results would leave the second-level cache before they are
// read.
std::vector<std::vector<uint32_t>> join_strips(const StripsProblem& problem, std::vector<std::vector<uint32_t>> units);

} // namespace executorch::backends::et_xnnpack
