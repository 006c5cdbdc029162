// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {

// The nodes of a graph in units that run as a whole, in an order in which they can run: elementwise
// nodes that one pass over memory can compute together, all other nodes each alone.
//
// `order` has all nodes, each behind those that it needs. `followers` are, by node, those that must
// run after it: they read its result, or overwrite what it reads. `can_fuse` says, by node, what is
// elementwise, and `can_lead` which other nodes can give their only result to the elementwise nodes that read it: such a
// node comes first in their unit, if they are all of one and make results of the same shape.
std::vector<std::vector<uint32_t>> fuse_elementwise_nodes(
    const Blob& blob,
    const std::vector<uint32_t>& order,
    const std::vector<std::vector<uint32_t>>& followers,
    const std::vector<bool>& can_fuse,
    const std::vector<bool>& can_lead);

} // namespace executorch::backends::et_xnnpack
