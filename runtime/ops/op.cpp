// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "op.h"

namespace executorch::backends::et_xnnpack {

namespace {

// Whether this build has an operator. ET_XNNPACK_OPS lists them; without it there are all.
constexpr bool is_built(schema::Attributes type) {
#ifdef ET_XNNPACK_OPS
  for (const schema::Attributes built : {ET_XNNPACK_OPS}) {
    if (built == type) {
      return true;
    }
  }
  return false;
#else
  return type != schema::Attributes::NONE;
#endif
}

Status refuse_left_out(const NodeContext& node, Span<TensorType>) {
  return failure(
      Error::NotSupported,
      "This build of et_xnnpack was made without the operator %s: name it in ET_XNNPACK_OPS.",
      schema::EnumNameAttributes(node.node().attributes_type()));
}

constexpr OpImpl kLeftOutOp{refuse_left_out, nullptr};

} // namespace

// The linker leaves out an operator that is not named here.
#define ETX_OPERATOR(name)                              \
  case schema::Attributes::name:                        \
    if constexpr (is_built(schema::Attributes::name)) { \
      return k##name##Op;                               \
    } else {                                            \
      return kLeftOutOp;                                \
    }

const OpImpl& op_impl(schema::Attributes type) {
  static const OpImpl kNone{};
  switch (type) {
    ETX_OPERATORS(ETX_OPERATOR)
    case schema::Attributes::NONE:
      break;
  }
  return kNone; // Blob::open lets no other value through.
}

#undef ETX_OPERATOR

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

StatusOr<DType> NodeContext::check_wide_float() const {
  if (input(0).dtype != DType::Float64) {
    ETX_RETURN_IF_ERROR(check_float());
    return DType::Float32;
  }
  for (size_t i = 1; i < inputs_.size(); ++i) {
    ETX_CHECK(
        !has_input(i) || input(i).dtype == DType::Float64,
        InvalidProgram,
        "input %zu is %s, but must be Float64 like input 0",
        i,
        input(i).to_string().c_str());
  }
  return DType::Float64;
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
