// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "blob.h"

namespace executorch::backends::et_xnnpack {
namespace {

std::string expression(const Blob& blob, int64_t index);

std::string size(const Blob& blob, int64_t entry) {
  return entry >= 0 ? std::to_string(entry) : expression(blob, -1 - entry);
}

std::string expression(const Blob& blob, int64_t index) {
  const schema::DimExpr& expr = *blob.graph().exprs()->Get(static_cast<uint32_t>(index));
  switch (expr.op()) {
    case schema::DimOp::Const:
      return std::to_string(expr.a());
    case schema::DimOp::InputDim:
      return "in" + std::to_string(expr.a()) + "." + std::to_string(expr.b());
    case schema::DimOp::InputInt:
      return "in" + std::to_string(expr.a());
    default:
      return std::string(schema::EnumNameDimOp(expr.op())) + "(e" + std::to_string(expr.a()) + ", e" +
          std::to_string(expr.b()) + ")";
  }
}

std::string type(const Blob& blob, uint32_t id) {
  const schema::Value& value = blob.value(id);
  std::string text = "%" + std::to_string(id) + ": " + schema::EnumNameDType(value.dtype()) + "[";
  if (value.dims() != nullptr) {
    for (uint32_t axis = 0; axis < value.dims()->size(); ++axis) {
      text += (axis == 0 ? "" : ", ") + size(blob, value.dims()->Get(axis));
    }
  }
  return text + "]";
}

std::string operands(const flatbuffers::Vector<uint32_t>* ids) {
  std::string text;
  if (ids != nullptr) {
    for (const uint32_t id : *ids) {
      text += (text.empty() ? "" : ", ") + (id == kNone ? std::string("none") : "%" + std::to_string(id));
    }
  }
  return text;
}

} // namespace

std::string inspect(const Blob& blob) {
  std::string text;
  const schema::Graph& graph = blob.graph();
  for (uint32_t i = 0; graph.exprs() != nullptr && i < graph.exprs()->size(); ++i) {
    text += "size e" + std::to_string(i) + " = " + expression(blob, i) + "\n";
  }
  for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
    const uint32_t id = graph.inputs()->Get(i)->value();
    text += "in " + (id == kNone ? std::string("integer") : type(blob, id)) + "\n";
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    text += "state " + type(blob, blob.state(i).value()) + " of " + blob.state(i).name()->str() + "\n";
  }
  for (uint32_t id = 0; id < blob.num_values(); ++id) {
    if (const schema::Constant* constant = blob.value(id).constant()) {
      text += "const " + type(blob, id) + " = " +
          (constant->key() != nullptr ? "#" + constant->key()->str().substr(0, 8)
                                      : std::to_string(constant->data()->size()) + " bytes") +
          "\n";
    }
  }
  for (size_t i = 0; i < blob.num_nodes(); ++i) {
    const schema::Node& node = blob.node(i);
    std::string outputs;
    for (const uint32_t id : *node.outputs()) {
      outputs += (outputs.empty() ? "" : ", ") + type(blob, id);
    }
    text += outputs + " = " + schema::EnumNameAttributes(node.attributes_type()) + "(" + operands(node.inputs()) +
        ") @" + std::to_string(node.debug_handle()) + "\n";
  }
  for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
    text += "out %" + std::to_string(graph.outputs()->Get(i)->value()) + "\n";
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    text += "set " + blob.state(i).name()->str() + " %" + std::to_string(blob.state(i).update()) + "\n";
  }
  return text;
}

} // namespace executorch::backends::et_xnnpack
