// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/kernels/elementwise/row.h"
#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_quantize(const NodeContext& node);
std::unique_ptr<Kernel> make_dequantize(const NodeContext& node);
// Null unless one scale is for all, whatever the sizes.
std::unique_ptr<Row> make_quantize_row(const NodeContext& node);
std::unique_ptr<Row> make_dequantize_row(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
