// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/caches.h"
#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {

// Joins units of one node each that follow each other to one whose nodes run in strips of rows of images: a
// convolution with a window, and those of single pixels in front of it and behind it, of which each reads the result of the
// one before and nothing else does. That pays where those results would leave the second-level cache before they are read.
//
// `choices`, by node, have a kernel for strips if it may be part of such a unit. `results`, by value: whether it is needed
// outside of steps.
std::vector<std::vector<uint32_t>> join_strips(
    const Blob& blob,
    Span<const TensorType> types,
    const std::vector<Choice>& choices,
    const std::vector<bool>& results,
    const Caches& caches,
    std::vector<std::vector<uint32_t>> units);

} // namespace executorch::backends::et_xnnpack
