// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_parameters.h"

#include "xnnpack_format.h"

namespace executorch::backends::et_xnnpack {

Int8ConvParameters int8_parameters(const NodeContext& node, const schema::Clamp* clamp) {
  const ProductParameters product = product_parameters(node, clamp);
  const auto& weight_scale = *node.input(1).quantization->scale();
  Int8ConvParameters parameters;
  parameters.input_scale = product.x_scale;
  parameters.output_scale = product.y_scale;
  parameters.input_zero_point = product.x_zero_point;
  parameters.output_zero_point = product.y_zero_point;
  parameters.weight_scale = {weight_scale.data(), weight_scale.size()};
  parameters.min = product.min;
  parameters.max = product.max;
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
