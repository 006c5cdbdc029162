// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_index(const NodeContext& node);
std::unique_ptr<Kernel> make_gather(const NodeContext& node);
std::unique_ptr<Kernel> make_embedding_bag(const NodeContext& node);

// These write to parts of a tensor. All but make_masked_scatter may work in place.
std::unique_ptr<Kernel> make_index_put(const NodeContext& node);
std::unique_ptr<Kernel> make_scatter(const NodeContext& node);
std::unique_ptr<Kernel> make_slice_scatter(const NodeContext& node);
std::unique_ptr<Kernel> make_masked_scatter(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
