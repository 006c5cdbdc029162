// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// These take every dtype.
std::unique_ptr<Kernel> make_copy(const NodeContext& node);
std::unique_ptr<Kernel> make_transpose(const NodeContext& node);
std::unique_ptr<Kernel> make_expand(const NodeContext& node);
std::unique_ptr<Kernel> make_slice(const NodeContext& node);
std::unique_ptr<Kernel> make_concat(const NodeContext& node);
std::unique_ptr<Kernel> make_pad(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
