// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/conv/bfloat16_conv.h"
#include "runtime/kernels/conv/int8_block_conv.h"
#include "runtime/kernels/gemm/float64_matmul.h"
#include "runtime/kernels/gemm/matmul.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
MatrixProduct linear_parameters(const NodeContext& node);
MatrixProduct batch_matmul_parameters(const NodeContext& node);
Float64MatMulParameters float64_linear_parameters(const NodeContext& node);
Float64MatMulParameters float64_batch_matmul_parameters(const NodeContext& node);
Int8ConvParameters int8_linear_parameters(const NodeContext& node);
LowPrecisionMatMulParameters low_precision_linear_parameters(const NodeContext& node);
LowPrecisionMatMulParameters block_linear_parameters(const NodeContext& node);
LowPrecisionMatMulParameters low_precision_batch_matmul_parameters(const NodeContext& node);
ConvParameters bfloat16_linear_parameters(const NodeContext& node);
LowPrecisionMatMulParameters bfloat16_batch_matmul_parameters(const NodeContext& node);

// With operands of Float32.
inline constexpr auto make_linear = make_kernel_of<MatMul, linear_parameters>;
inline constexpr auto make_batch_matmul = make_kernel_of<MatMul, batch_matmul_parameters>;

// With a constant weight, in blocks (block_product.h).
inline constexpr auto make_block_linear = make_kernel_of<LowPrecisionMatMul, block_linear_parameters>;

// Between integers of 8 bits, each row as a pixel. REQUIRES: integer_product_limit() is null
inline constexpr auto make_int8_block_linear = make_kernel_of<Int8BlockConv, int8_linear_parameters>;

// With operands of Float64.
inline constexpr auto make_float64_linear = make_kernel_of<Float64MatMul, float64_linear_parameters>;
inline constexpr auto make_float64_batch_matmul = make_kernel_of<Float64MatMul, float64_batch_matmul_parameters>;

// With operand 1, a constant, in the 16 or 8 bits in which the program has it.
// REQUIRES: is_low_precision(operand 1)
inline constexpr auto make_low_precision_linear = make_kernel_of<LowPrecisionMatMul, low_precision_linear_parameters>;
inline constexpr auto make_low_precision_batch_matmul =
    make_kernel_of<LowPrecisionMatMul, low_precision_batch_matmul_parameters>;

// The same with a weight of any float type, which is rounded to BFloat16 like what it is multiplied by. A linear layer is a
// convolution of 1 x 1. REQUIRES: is_in_bfloat16()
inline constexpr auto make_bfloat16_linear = make_kernel_of<BFloat16Conv, bfloat16_linear_parameters>;
inline constexpr auto make_bfloat16_batch_matmul = make_kernel_of<LowPrecisionMatMul, bfloat16_batch_matmul_parameters>;

} // namespace executorch::backends::et_xnnpack
