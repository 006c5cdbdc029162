// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/gemm/low_precision_product.h"
#include "runtime/ops/choice.h"
#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {

// Convolutions and products in batches are faster with Float32 if one matrix has fewer elements than this, and the
// memory that they need for it is small.
constexpr size_t kMinLowPrecisionElements = 16384;

// Whether our kernels multiply by a weight like this in the type in which the program has it: Float16 or BFloat16, or
// Int8 with one scale for all or one for each index of its first axis.
bool is_low_precision(const TensorType& weight);

// Whether a product that XNNPACK computes, by this choice, rounds nothing of such a weight: both are in Float16.
bool keeps_weight(const Choice& choice, const TensorType& weight);

// Whether the program or the options let a product of operand 0 with a constant operand 1 round both to BFloat16, and
// the CPU has instructions for it.
bool is_in_bfloat16(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options);

// The same product by those instructions.
constexpr LowPrecision kInBFloat16{DType::BFloat16, /*rounds_x=*/true};
constexpr const char* kForcedBFloat16 = "force_bf16 asks for it.";

// Why our kernels multiply by a weight like this.
constexpr const char* kLowPrecision =
    "The weight stays in the 16 or 8 bits that the program has it in; XNNPACK would widen it.";

// The kernel that `make` gives for operands of Float32 but for a weight like this, between dequantize and quantize.
// `limit`: why XNNPACK does not compute the node, null if the options rule it out.
Choice choose_dequantized_but_weight(MakeKernel make, const char* limit);

// How to multiply operand 0 by operand 1. REQUIRES: is_low_precision(operand 1)
LowPrecision precision_of(const NodeContext& node);

// Borrows from the blob. REQUIRES: is_low_precision(weight)
WeightScales weight_scales(const TensorType& weight);

} // namespace executorch::backends::et_xnnpack
