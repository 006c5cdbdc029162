// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>

#include "../kernels/layer_norm.h"
#include "common.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status infer_layer_norm(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1, 2));
  ETX_RETURN_IF_ERROR(node.check_float());
  const auto& attributes = node.attributes<schema::LayerNorm>();
  const Shape& x = node.input(0).shape;
  const size_t axes = attributes.axes();
  ETX_CHECK(axes >= 1 && axes <= x.rank, InvalidProgram, "normalizes over %zu of %zu axes", axes, x.rank);
  ETX_CHECK(
      std::isfinite(attributes.epsilon()) && attributes.epsilon() >= 0,
      InvalidProgram,
      "epsilon is %g",
      static_cast<double>(attributes.epsilon()));
  Shape normalized;
  for (size_t axis = x.rank - axes; axis < x.rank; ++axis) {
    normalized.append(x[axis]);
  }
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    if (node.has_input(i)) {
      ETX_RETURN_IF_ERROR(check_shape(node, i, normalized));
    }
  }
  return set_output(outputs, DType::Float32, x);
}

} // namespace

const OpImpl kLayerNormOp{infer_layer_norm, nullptr, nullptr, make_layer_norm};

} // namespace executorch::backends::et_xnnpack
