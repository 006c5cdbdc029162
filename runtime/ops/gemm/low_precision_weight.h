// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/gemm/low_precision_product.h"
#include "runtime/program/tensor_type.h"

namespace executorch::backends::et_xnnpack {

// Convolutions and products in batches are faster with Float32 if one matrix has fewer elements than this, and the
// memory that they need for it is small.
constexpr size_t kMinLowPrecisionElements = 16384;

// Whether our kernels multiply by a weight like this in the type in which the program has it: Float16 or BFloat16, or
// Int8 with one scale for all or one for each index of its first axis.
bool is_low_precision(const TensorType& weight);

// Borrows from the blob. REQUIRES: is_low_precision(weight)
WeightScales weight_scales(const TensorType& weight);

} // namespace executorch::backends::et_xnnpack
