// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <random>
#include <vector>

#include <runtime/ops/infer.h>

namespace executorch::backends::et_xnnpack::testing {

// Arguments of one call: sizes in the declared ranges, and content.
struct GraphCall {
  std::vector<ArgumentSize> sizes;
  std::vector<std::vector<uint8_t>> inputs; // empty for an integer
};

// A call with the sizes for which memory is planned, or with others.
GraphCall make_call(const Blob& blob, std::mt19937* random);

} // namespace executorch::backends::et_xnnpack::testing
