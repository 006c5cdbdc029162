// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantization.h"

#include <algorithm>
#include <cmath>

namespace executorch::backends::et_xnnpack {
namespace {

struct Limits {
  int32_t min, max;
};

Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::Int8:
      return {INT8_MIN, INT8_MAX};
    case DType::UInt8:
      return {0, UINT8_MAX};
    default:
      return {0, 0}; // Int32 holds sums, which have no zero point
  }
}

} // namespace

Status check_quantization(const schema::Value& value) {
  const schema::Quantization& quantization = *value.quantization();
  const bool is_constant = value.constant() != nullptr;
  const DType dtype = to_dtype(value.dtype());
  ETX_CHECK(
      dtype == DType::Int8 || dtype == DType::UInt8 || (dtype == DType::Int32 && is_constant),
      InvalidProgram,
      "it is quantized, but its type is %s instead of Int8, UInt8 or, for a constant, Int32",
      name_of(dtype));
  const size_t scales = quantization.scale() == nullptr ? 0 : quantization.scale()->size();
  const size_t zero_points = quantization.zero_point() == nullptr ? 0 : quantization.zero_point()->size();
  ETX_CHECK(
      scales > 0 && scales == zero_points,
      InvalidProgram,
      "it has %zu scales and %zu zero points instead of one zero point for each scale",
      scales,
      zero_points);
  if (scales > 1) {
    const size_t axis = quantization.axis();
    ETX_CHECK(
        is_constant, InvalidProgram, "it has %zu scales, but is no constant: only constants can have several", scales);
    ETX_CHECK(
        value.dims() != nullptr && axis < value.dims()->size() &&
            value.dims()->Get(static_cast<uint32_t>(axis))->value() == static_cast<int64_t>(scales),
        InvalidProgram,
        "it has %zu scales for axis %zu, which has another size or does not exist",
        scales,
        axis);
  }
  const Limits limits = limits_of(dtype);
  for (uint32_t i = 0; i < scales; ++i) {
    const float scale = quantization.scale()->Get(i);
    ETX_CHECK(
        scale > 0 && std::isnormal(scale),
        InvalidProgram,
        "its scale %u is %g, which is not a positive normal number",
        i,
        static_cast<double>(scale));
    const int32_t zero_point = quantization.zero_point()->Get(i);
    ETX_CHECK(
        zero_point >= limits.min && zero_point <= limits.max,
        InvalidProgram,
        "its zero point %u is %d, but must be %s",
        i,
        zero_point,
        dtype == DType::Int8        ? "-128 to 127"
            : dtype == DType::UInt8 ? "0 to 255"
                                    : "0");
  }
  return {};
}

bool is_same(const schema::Quantization* a, const schema::Quantization* b) {
  if (a == b || a == nullptr || b == nullptr) {
    return a == b;
  }
  return a->scale()->size() == b->scale()->size() && (a->scale()->size() == 1 || a->axis() == b->axis()) &&
      std::equal(a->scale()->begin(), a->scale()->end(), b->scale()->begin()) &&
      std::equal(a->zero_point()->begin(), a->zero_point()->end(), b->zero_point()->begin());
}

bool is_per_tensor(const TensorType& type, DType dtype) {
  return type.quantization != nullptr && type.quantized_dtype == dtype && type.quantization->scale()->size() == 1;
}

int32_t quantize_number(const schema::Quantization& quantization, DType dtype, float value) {
  const Limits limits = limits_of(dtype);
  const float moved =
      std::nearbyint(value / quantization.scale()->Get(0)) + static_cast<float>(quantization.zero_point()->Get(0));
  const float low = static_cast<float>(limits.min), high = static_cast<float>(limits.max);
  return std::isnan(moved) ? 0 : static_cast<int32_t>(std::min(std::max(moved, low), high));
}

} // namespace executorch::backends::et_xnnpack
