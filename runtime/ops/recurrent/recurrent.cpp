// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "recurrent_kernel.h"

#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::RecurrentKind;

size_t num_gates(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::Lstm:
      return 4;
    case RecurrentKind::Gru:
      return 3;
    case RecurrentKind::Tanh:
    case RecurrentKind::Relu:
      break;
  }
  return 1;
}

Status infer_recurrent(const NodeContext& node, Span<TensorType> outputs) {
  const auto& attributes = node.attributes<schema::Recurrent>();
  const RecurrentKind kind = attributes.kind();
  const bool has_cell = kind == RecurrentKind::Lstm;
  ETX_RETURN_IF_ERROR(node.check_operands(2, has_cell ? 4 : 2, has_cell ? 3 : 2));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 3));
  ETX_RETURN_IF_ERROR(check_rank(node, 1, 2));
  const Shape& x = node.input(0).shape;
  const Shape& weight = node.input(1).shape;
  const size_t gates = num_gates(kind), hidden = weight[0] / gates, output = weight[1];
  ETX_CHECK(
      hidden != 0 && output != 0 && weight[0] % gates == 0 && x[2] == weight[0],
      InvalidProgram,
      "input %s and weight %s do not match",
      x.to_string().c_str(),
      weight.to_string().c_str());
  ETX_RETURN_IF_ERROR(check_bias(node, 2, weight[0]));
  if (node.has_input(3)) {
    ETX_RETURN_IF_ERROR(check_shape(node, 3, {x[1], output}));
  }
  if (node.has_input(4)) {
    ETX_RETURN_IF_ERROR(check_shape(node, 4, {x[1], hidden}));
  }
  if (node.has_input(5)) {
    ETX_RETURN_IF_ERROR(check_shape(node, 5, {output, hidden}));
  } else {
    ETX_CHECK(output == hidden, InvalidProgram, "weight %s needs a projection", weight.to_string().c_str());
  }
  // What one step computes: no bound follows from the operands if there are no steps.
  ETX_RETURN_IF_ERROR(check_size({DType::Float32, {x[1], x[2]}}));
  ETX_RETURN_IF_ERROR(check_size({DType::Float32, {x[1], hidden}}));
  ETX_RETURN_IF_ERROR(set_output(outputs, DType::Float32, {x[1], output}, 1));
  if (has_cell) {
    ETX_RETURN_IF_ERROR(set_output(outputs, DType::Float32, {x[1], hidden}, 2));
  }
  return set_output(outputs, DType::Float32, {x[0], x[1], output});
}

} // namespace

const OpImpl kRecurrentOp{infer_recurrent, choose_only_kernel<make_recurrent>};

} // namespace executorch::backends::et_xnnpack
