// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "op.h"

namespace executorch::backends::et_xnnpack {

const OpImpl& op_impl(schema::Attributes type) {
  static const OpImpl kNone{};
  switch (type) {
#define ETX_CASE(name)           \
  case schema::Attributes::name: \
    return k##name##Op;
    ETX_OPERATORS(ETX_CASE)
#undef ETX_CASE
    case schema::Attributes::NONE:
      break;
  }
  return kNone; // Blob::open lets no other value through.
}

Status NodeContext::check_operands(size_t required, size_t optional, size_t num_outputs) const {
  ETX_CHECK(
      inputs_.size() >= required && inputs_.size() <= required + optional,
      InvalidProgram,
      "it has %zu inputs, but the operator takes %zu to %zu",
      inputs_.size(),
      required,
      required + optional);
  for (size_t i = 0; i < required; ++i) {
    ETX_CHECK(has_input(i), InvalidProgram, "input %zu is absent", i);
  }
  ETX_CHECK(
      this->num_outputs() == num_outputs,
      InvalidProgram,
      "it has %zu outputs, but the operator makes %zu",
      this->num_outputs(),
      num_outputs);
  return {};
}

bool NodeContext::is_quantized() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (has_input(i) && input(i).quantization != nullptr) {
      return true;
    }
  }
  for (const TensorType& type : outputs_) {
    if (type.quantization != nullptr) {
      return true;
    }
  }
  return false;
}

Status check_quantized(const OpImpl& op, const NodeContext& node) {
  ETX_CHECK(
      !node.is_quantized() || (op.takes_quantized && node.num_outputs() == 1),
      InvalidProgram,
      "the operator takes no quantized operands");
  return {};
}

Status NodeContext::check_float() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ETX_CHECK(
        !has_input(i) || input(i).dtype == DType::Float32,
        InvalidProgram,
        "input %zu is %s, but must be Float32",
        i,
        input(i).to_string().c_str());
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
