// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "choose.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <xnnpack.h>

#include "dequantized.h"
#include "xnnpack_kernel.h"
#include "runtime/program/quantization.h"

namespace executorch::backends::et_xnnpack {
namespace {

static_assert(XNN_MAX_TENSOR_DIMS == 6, "kHighRank names it");

Limit tensor_limit(const TensorType& type) {
  if (type.dtype != DType::Float32) {
    return "XNNPACK computes Float32, and an operand or the result has another type.";
  }
  if (type.shape.rank > XNN_MAX_TENSOR_DIMS) {
    return kHighRank;
  }
  return type.shape.numel() == 0 ? kEmpty : nullptr;
}

bool is_float32(const TensorType& type) {
  return type.dtype == DType::Float32 && type.quantization == nullptr;
}

bool fits_xnnpack(const Window& window) {
  constexpr uint32_t kLimit = 1 << 14;
  return std::max({window.kernel, window.stride, window.dilation, window.before, window.after}) < kLimit;
}

// Why XNNPACK does not multiply by these scales: beyond some ratios it fails, or computes something else.
Limit scale_limit(const NodeContext& node) {
  const float x = scale_of(node.input(0)), y = scale_of(node.output());
  const auto& scales = *node.input(1).quantization->scale();
  const bool fits = std::isfinite(x / y) && std::all_of(scales.begin(), scales.end(), [&](float scale) {
                      const float factor = scale * x / y;
                      return factor >= 0x1p-32f && factor < 256.0f;
                    });
  return fits ? nullptr : "XNNPACK takes no such ratio of the scales of operands and result.";
}

Limit bias_limit(const NodeContext& node) {
  const TensorType& bias = node.input(2);
  const auto& scales = *node.input(1).quantization->scale();
  if (bias.quantization == nullptr || bias.quantized_dtype != DType::Int32 || !node.is_constant(2) ||
      bias.quantization->scale()->size() != scales.size()) {
    return "XNNPACK takes a constant bias of Int32 with as many scales as the weight.";
  }
  for (uint32_t i = 0; i < scales.size(); ++i) {
    const float expected = scales.Get(i) * scale_of(node.input(0));
    if (!(std::fabs(bias.quantization->scale()->Get(i) - expected) <= 1e-6f * expected)) {
      return "XNNPACK takes a bias with the scale of the input times that of the weight.";
    }
  }
  return nullptr;
}

} // namespace

Limit operand_limit(const NodeContext& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (const Limit limit = node.has_input(i) ? tensor_limit(node.input(i)) : nullptr; limit != nullptr) {
      return limit;
    }
  }
  return tensor_limit(node.output());
}

Limit window_limit(const Window& height, const Window& width) {
  return fits_xnnpack(height) && fits_xnnpack(width)
      ? nullptr
      : "XNNPACK takes windows, strides, dilations and paddings below 16384.";
}

Limit depth_limit(size_t depth) {
  constexpr size_t kLargestProduct = size_t{255} * 128;
  return depth > INT32_MAX / kLargestProduct ? "Sums of so many products of integers need more than 32 bits." : nullptr;
}

bool has_symmetric_channels(const TensorType& weight) {
  const schema::Quantization& quantization = *weight.quantization;
  const auto& zero_points = *quantization.zero_point();
  return (quantization.scale()->size() == 1 || quantization.axis() == 0) &&
      std::all_of(zero_points.begin(), zero_points.end(), [](int32_t zero_point) { return zero_point == 0; });
}

Limit integer_product_limit(const NodeContext& node, const schema::Clamp* clamp) {
  const TensorType& weight = node.input(1);
  const TensorType& y = node.output();
  if (!is_per_tensor(node.input(0), DType::Int8) || !is_per_tensor(y, DType::Int8)) {
    return "XNNPACK multiplies integers between an input and a result of Int8 with one scale each.";
  }
  if (weight.quantization == nullptr || weight.quantized_dtype != DType::Int8 || !node.is_constant(1)) {
    return "XNNPACK multiplies Int8 by a constant weight of Int8.";
  }
  if (const Limit limit = depth_limit(weight.shape.numel(1, weight.shape.rank)); limit != nullptr) {
    return limit;
  }
  if (!has_symmetric_channels(weight)) {
    return "XNNPACK takes weights with one scale, or one for each output channel, and zero points of 0.";
  }
  if (!xnnpack_has(Part::Sums)) {
    return kWrongSums;
  }
  if (const Limit limit = scale_limit(node); limit != nullptr) {
    return limit;
  }
  if (const Limit limit = node.has_input(2) ? bias_limit(node) : nullptr; limit != nullptr) {
    return limit;
  }
  const bool clamps_to_one = clamp != nullptr &&
      quantize_number(*y.quantization, y.quantized_dtype, clamp->min()) >=
          quantize_number(*y.quantization, y.quantized_dtype, clamp->max());
  return clamps_to_one ? "XNNPACK takes no clamp that leaves a single integer." : nullptr;
}

Limit nan_limit(Limited op, bool float16, size_t size) {
  return xnnpack_keeps_nan(op, float16, size) ? nullptr : "This build of XNNPACK loses NaN here, or spreads it.";
}

Limit denormal_limit() {
  return xnnpack_has(Part::Denormals) ? nullptr : "This build of XNNPACK takes denormal numbers for 0.";
}

Limit float16_clamp_limit(const schema::Clamp* clamp) {
  return is_range_in_float16(clamp) ? nullptr : "The limits of the clamp are the same number in Float16.";
}

bool is_float32(const NodeContext& node) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !is_float32(node.input(i))) {
      return false;
    }
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    if (!is_float32(node.output(i))) {
      return false;
    }
  }
  return true;
}

Choice choose_xnnpack_or_kernel(
    const NodeContext& node,
    const ChoiceOptions& options,
    Limit limit,
    MakeXnnpackKernel xnnpack,
    MakeKernel make,
    Limit float16_limit) {
  if (limit != nullptr || !options.xnnpack) {
    return choose_kernel(node, std::move(make), limit != nullptr ? limit : kEmpty);
  }
  const bool float16 = options.float16 && is_float32(node);
  Choice choice = Choice::xnnpack(
      xnnpack,
      float16 && float16_limit != nullptr ? std::string("XNNPACK has this operator. ") + float16_limit
                                          : "XNNPACK has this operator.");
  return float16 && float16_limit == nullptr ? std::move(choice).in_float16() : choice;
}

Choice choose_kernel(const NodeContext& node, MakeKernel make, const char* reason) {
  if (!node.is_quantized()) {
    return Choice::kernel(std::move(make), reason);
  }
  return Choice::kernel(
      [make = std::move(make)](const NodeContext& quantized) { return make_dequantized(make, quantized); },
      std::string(reason) + " Integers are converted to Float32 before, and back after it.");
}

} // namespace executorch::backends::et_xnnpack
