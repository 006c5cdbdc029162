// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_reduce(const NodeContext& node);
std::unique_ptr<Kernel> make_arg_reduce(const NodeContext& node);
std::unique_ptr<Kernel> make_scan(const NodeContext& node);
std::unique_ptr<Kernel> make_sort(const NodeContext& node);
std::unique_ptr<Kernel> make_softmax(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
