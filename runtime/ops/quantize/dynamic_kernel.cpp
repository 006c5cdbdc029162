// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "dynamic_kernel.h"

#include "runtime/ops/common/common.h"

namespace executorch::backends::et_xnnpack {
namespace {

QParamsRule to_rule(schema::QParamsKind kind) {
  switch (kind) {
    case schema::QParamsKind::Asymmetric:
      return QParamsRule::Asymmetric;
    case schema::QParamsKind::Symmetric:
      return QParamsRule::Symmetric;
    case schema::QParamsKind::Nearest:
      break;
  }
  return QParamsRule::Nearest;
}

} // namespace

QuantizedLinearParameters quantized_linear_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::QuantizedLinear>();
  const Shape& x = node.input(0).shape;
  QuantizedLinearParameters parameters;
  parameters.rows = x.numel(0, x.rank - 1);
  parameters.depth = x.last();
  parameters.columns = node.input(1).shape[0];
  parameters.groups = node.input(2).shape[1];
  parameters.dynamic_quantization = attributes.dynamic_quantization();
  parameters.min = clamp_min(attributes.clamp());
  parameters.max = clamp_max(attributes.clamp());
  return parameters;
}

Int4LinearParameters int4_linear_parameters(const NodeContext& node) {
  const auto packs = [&node](size_t i) { return node.has_input(i) && !node.is_constant(i); };
  // A constant weight, too, if its groups are those of a scale that may have other sizes in each call.
  return {quantized_linear_parameters(node), packs(1) || packs(2), packs(2), packs(4)};
}

LowPrecisionMatMulParameters weight_only_linear_parameters(const NodeContext& node) {
  const QuantizedLinearParameters quantized = quantized_linear_parameters(node);
  LowPrecisionMatMulParameters parameters;
  parameters.rows = quantized.rows;
  parameters.depth = quantized.depth;
  parameters.columns = quantized.columns;
  parameters.b_transposed = true;
  parameters.precision = {DType::Int8, /*rounds_x=*/false, /*fixed_point=*/true};
  parameters.has_scale_input = true;
  parameters.min = quantized.min;
  parameters.max = quantized.max;
  return parameters;
}

ChooseQParamsParameters choose_qparams_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::ChooseQParams>();
  const Shape& x = node.input(0).shape;
  const size_t first = x.rank - attributes.axes();
  return {
      x.numel(0, first),
      x.numel(first, x.rank),
      {static_cast<float>(attributes.min()),
       static_cast<float>(attributes.max()),
       to_rule(attributes.kind()),
       attributes.epsilon()}};
}

} // namespace executorch::backends::et_xnnpack
