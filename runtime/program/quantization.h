// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "tensor_type.h"

namespace executorch::backends::et_xnnpack {

// Fails unless the quantization of a value is complete and every number in it is possible.
Status check_quantization(const schema::Value& value);

// Whether both give integers the same meaning; null is none.
bool is_same(const schema::Quantization* a, const schema::Quantization* b);

// Whether the tensor holds integers of this type with one scale.
bool is_per_tensor(const TensorType& type, DType dtype);

// REQUIRES: one scale
inline float scale_of(const TensorType& type) {
  return type.quantization->scale()->Get(0);
}
inline int32_t zero_point_of(const TensorType& type) {
  return type.quantization->zero_point()->Get(0);
}

// The integer of type Int8 or UInt8 that is nearest to a number. REQUIRES: one scale
int32_t quantize_number(const schema::Quantization& quantization, DType dtype, float value);

} // namespace executorch::backends::et_xnnpack
