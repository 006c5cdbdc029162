// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_format.h"

#include <algorithm>
#include <cmath>

#include "common.h"
#include "runtime/program/quantization.h"
#include "runtime/xnnpack/operator.h"
#include "runtime/xnnpack/rounded_rows.h"

namespace executorch::backends::et_xnnpack {
namespace {

// A limit in between of two integers is rounded as results are.
int8_t limit(float value, float scale, int8_t zero_point) {
  const float moved = std::nearbyint(value / scale) + static_cast<float>(zero_point);
  return static_cast<int8_t>(std::min(std::max(moved, -128.0f), 127.0f));
}

} // namespace

ProductFormat product_format(const NodeContext& node, bool float16, bool dynamic_quantization) {
  if (float16) {
    return ProductFormat::Float16;
  }
  const schema::Quantization* weight = node.input(1).quantization;
  if (weight == nullptr) {
    return ProductFormat::Float32;
  }
  if (dynamic_quantization) {
    return takes_unsigned_rows(RoundedProduct::Convolution) ? ProductFormat::DynamicUInt8 : ProductFormat::DynamicInt8;
  }
  return weight->scale()->size() == 1 ? ProductFormat::Int8 : ProductFormat::Int8ByChannel;
}

ProductParameters product_parameters(const NodeContext& node, const schema::Clamp* clamp) {
  const TensorType& x = node.input(0);
  const TensorType& y = node.output();
  ProductParameters result;
  if (x.quantization == nullptr || y.quantization == nullptr) {
    return result;
  }
  result.x_zero_point = static_cast<int8_t>(zero_point_of(x));
  result.x_scale = scale_of(x);
  result.y_zero_point = static_cast<int8_t>(zero_point_of(y));
  result.y_scale = scale_of(y);
  result.min = limit(clamp_min(clamp), result.y_scale, result.y_zero_point);
  result.max = limit(clamp_max(clamp), result.y_scale, result.y_zero_point);
  return result;
}

void describe_product(const NodeContext& node, ProductFormat format, PackingKey& key) {
  const ProductParameters parameters = product_parameters(node, nullptr);
  key.add(
      static_cast<int>(format),
      parameters.x_zero_point,
      parameters.x_scale,
      parameters.y_zero_point,
      parameters.y_scale,
      node.has_input(2));
  const TensorType& weight = node.input(1);
  for (size_t axis = 0; axis < weight.shape.rank; ++axis) {
    key.add(weight.shape[axis]);
  }
  if (weight.quantization != nullptr) {
    const auto& scale = *weight.quantization->scale();
    key.add(scale.size()).add_bytes(scale.data(), scale.size() * sizeof(float));
  }
}

} // namespace executorch::backends::et_xnnpack
