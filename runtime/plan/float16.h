// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {

// Leaves Float16 to products, and to what is between or beside them: elsewhere converting costs more than it gains.
// `content` is, by value, the one whose elements it has; `units` are nodes that run as a whole; of `choices`, by node, those
// in Float16 that gain nothing by it become Float32.
void choose_float16(
    const Blob& blob,
    const std::vector<uint32_t>& content,
    const std::vector<std::vector<uint32_t>>& units,
    std::vector<Choice>& choices);

} // namespace executorch::backends::et_xnnpack
