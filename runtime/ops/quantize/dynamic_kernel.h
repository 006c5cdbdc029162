// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/gemm/int4_linear.h"
#include "runtime/kernels/gemm/matmul.h"
#include "runtime/kernels/gemm/quantized_linear.h"
#include "runtime/kernels/quantize/choose_qparams.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
QuantizedLinearParameters quantized_linear_parameters(const NodeContext& node);
Int4LinearParameters int4_linear_parameters(const NodeContext& node);
LowPrecisionMatMulParameters weight_only_linear_parameters(const NodeContext& node);
ChooseQParamsParameters choose_qparams_parameters(const NodeContext& node);

// With weights of 8 bits, and of 4.
inline constexpr auto make_quantized_linear = make_kernel_of<QuantizedLinear, quantized_linear_parameters>;
inline constexpr auto make_int4_linear = make_kernel_of<Int4Linear, int4_linear_parameters>;
// Of floats by a constant weight of Int8, packed, with one scale for each column and no zero points.
inline constexpr auto make_weight_only_linear = make_kernel_of<LowPrecisionMatMul, weight_only_linear_parameters>;
inline constexpr auto make_choose_qparams = make_kernel_of<ChooseQParams, choose_qparams_parameters>;

} // namespace executorch::backends::et_xnnpack
