// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "low_precision_weight.h"

namespace executorch::backends::et_xnnpack {

bool is_low_precision(const TensorType& weight) {
  if (weight.quantization == nullptr) {
    return is_reduced_float(weight.constant_dtype);
  }
  return weight.quantized_dtype == DType::Int8 &&
      (weight.quantization->scale()->size() == 1 || weight.quantization->axis() == 0);
}

WeightScales weight_scales(const TensorType& weight) {
  if (weight.quantization == nullptr) {
    return {};
  }
  const auto& scale = *weight.quantization->scale();
  const auto& zero_point = *weight.quantization->zero_point();
  return {{scale.data(), scale.size()}, {zero_point.data(), zero_point.size()}};
}

} // namespace executorch::backends::et_xnnpack
