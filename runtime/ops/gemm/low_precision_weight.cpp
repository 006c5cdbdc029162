// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "low_precision_weight.h"

#include <string>
#include <utility>

#include "runtime/ops/common/choose.h"
#include "runtime/ops/common/dequantized.h"

namespace executorch::backends::et_xnnpack {

bool is_low_precision(const TensorType& weight) {
  if (weight.quantization == nullptr) {
    return is_reduced_float(weight.constant_dtype);
  }
  return weight.quantized_dtype == DType::Int8 &&
      (weight.quantization->scale()->size() == 1 || weight.quantization->axis() == 0);
}

bool keeps_weight(const Choice& choice, const TensorType& weight) {
  return choice.float16 && weight.quantization == nullptr && weight.constant_dtype == DType::Float16;
}

bool is_in_bfloat16(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  const TensorType& weight = node.input(1);
  if (!cpu.bfloat16 || !node.is_constant(1) || weight.shape.numel() == 0 || weight.quantization != nullptr ||
      node.is_quantized()) {
    return false;
  }
  return options.bfloat16 || (weight.constant_dtype == DType::BFloat16 && precision_of(node).rounds_x);
}

Choice choose_dequantized_but_weight(MakeKernel make, const char* limit) {
  return Choice::kernel(
      [make = std::move(make)](const NodeContext& node) { return make_dequantized_but_weight(make, node); },
      std::string(limit == nullptr ? kEmpty : limit) + " " + kLowPrecision);
}

LowPrecision precision_of(const NodeContext& node) {
  const DType type = node.input(1).storage_in_program();
  return {type, node.input(0).exact_in == type};
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
