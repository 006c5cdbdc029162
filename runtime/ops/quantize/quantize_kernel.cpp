// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantize_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Whether one scale is for all of the input, whatever the sizes.
bool has_one_scale(const NodeContext& node) {
  const Shape& scale = node.input(1).shape;
  return scale.rank == 0 || (node.is_constant(1) && scale.numel() == 1);
}

} // namespace

QuantizeTensorParameters quantize_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Quantize>();
  return {to_dtype(attributes.dtype()), attributes.min(), attributes.max(), node.input(0).shape, node.input(1).shape};
}

DequantizeTensorParameters dequantize_parameters(const NodeContext& node) {
  return {node.input(0).dtype, node.input(0).shape, node.input(1).shape};
}

std::unique_ptr<Row> make_quantize_row(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Quantize>();
  return has_one_scale(node) ? make_quantize_row(to_dtype(attributes.dtype()), attributes.min(), attributes.max())
                             : nullptr;
}

std::unique_ptr<Row> make_dequantize_row(const NodeContext& node) {
  return has_one_scale(node) ? make_dequantize_row(node.input(0).dtype) : nullptr;
}

} // namespace executorch::backends::et_xnnpack
