// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/kernels/elementwise/row.h"
#include "runtime/kernels/quantize/quantize.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
QuantizeTensorParameters quantize_parameters(const NodeContext& node);
DequantizeTensorParameters dequantize_parameters(const NodeContext& node);

inline constexpr auto make_quantize = make_kernel_of<QuantizeTensor, quantize_parameters>;
inline constexpr auto make_dequantize = make_kernel_of<DequantizeTensor, dequantize_parameters>;
// Null unless one scale is for all, whatever the sizes.
std::unique_ptr<Row> make_quantize_row(const NodeContext& node);
std::unique_ptr<Row> make_dequantize_row(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
