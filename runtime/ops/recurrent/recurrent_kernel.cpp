// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "recurrent_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

RecurrentCellType to_cell_type(schema::RecurrentKind kind) {
  switch (kind) {
    case schema::RecurrentKind::Lstm:
      return RecurrentCellType::Lstm;
    case schema::RecurrentKind::Gru:
      return RecurrentCellType::Gru;
    case schema::RecurrentKind::Tanh:
      return RecurrentCellType::Tanh;
    case schema::RecurrentKind::Relu:
      break;
  }
  return RecurrentCellType::Relu;
}

} // namespace

RecurrentParameters recurrent_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Recurrent>();
  const Shape& x = node.input(0).shape;
  RecurrentParameters parameters;
  parameters.type = to_cell_type(attributes.kind());
  parameters.steps = x[0];
  parameters.batch = x[1];
  parameters.gates = x[2];
  parameters.output = node.input(1).shape[1];
  parameters.projects = node.has_input(5);
  parameters.hidden = parameters.projects ? node.input(5).shape[1] : parameters.output;
  parameters.reverse = attributes.reverse();
  parameters.packs_weight = node.is_constant(1);
  parameters.packs_projection = parameters.projects && node.is_constant(5);
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
