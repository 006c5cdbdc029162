// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

class NodeContext;

// What XNNPACK has for Softmax over the last axis of Float32. REQUIRES: XNNPACK has the node
std::unique_ptr<Kernel> make_xnnpack_softmax(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
