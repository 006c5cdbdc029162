// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {

// In what XNNPACK computes a product of tensors and weights.
enum class ProductFormat {
  Float32,
  Float16, // of a weight in Float32, which is rounded when it is packed
  Int8, // the weight has one scale
  Int8ByChannel, // it has one for each output channel
  DynamicInt8, // of Float32 quantized dynamically, by 8-bit weights with one scale for each output channel
  DynamicUInt8, // the same, quantized to numbers without sign
};

// REQUIRES: XNNPACK has the product of operands 0 and 1
ProductFormat product_format(const NodeContext& node, bool float16, bool dynamic_quantization);

// What a quantized product takes beside weights. All zero unless operand 0 and the result are quantized.
struct ProductParameters {
  int8_t x_zero_point = 0;
  float x_scale = 0;
  int8_t y_zero_point = 0;
  float y_scale = 0;
  int8_t min = 0, max = 0;
};

ProductParameters product_parameters(const NodeContext& node, const schema::Clamp* clamp);

// Everything of a product's operands that its packed weights depend on, but for the content of constants.
class PackingKey;
void describe_product(const NodeContext& node, ProductFormat format, PackingKey& key);

} // namespace executorch::backends::et_xnnpack
