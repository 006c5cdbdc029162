// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <et_xnnpack/operators.h>
#include <executorch/runtime/core/span.h>

#include "choice.h"
#include "runtime/program/sizes.h"
#include "runtime/base/status.h"
#include "runtime/program/tensor_type.h"

namespace executorch::backends::et_xnnpack {

// A node and the types of its operands at one set of sizes. Borrows everything.
class NodeContext {
 public:
  // An absent optional operand has a null type.
  NodeContext(
      const schema::Node& node,
      Span<const TensorType* const> inputs,
      Span<const bool> constant,
      Span<const TensorType> outputs,
      const Sizes& sizes)
      : node_(node), inputs_(inputs), constant_(constant), outputs_(outputs), sizes_(sizes) {}

  // REQUIRES: the node's attributes are of this type
  template <typename Attributes>
  const Attributes& attributes() const {
    return *static_cast<const Attributes*>(node_.attributes());
  }
  const schema::Node& node() const {
    return node_;
  }
  size_t num_inputs() const {
    return inputs_.size();
  }
  bool has_input(size_t i) const {
    return i < inputs_.size() && inputs_[i] != nullptr;
  }
  // REQUIRES: has_input(i)
  const TensorType& input(size_t i) const {
    return *inputs_[i];
  }
  // Whether operand i is a weight. REQUIRES: i < num_inputs()
  bool is_constant(size_t i) const {
    return constant_[i];
  }
  // Empty while `infer` runs.
  const TensorType& output(size_t i = 0) const {
    return outputs_[i];
  }
  size_t num_outputs() const {
    return node_.outputs()->size();
  }
  // Whether an operand or a result holds integers that stand for real numbers.
  // REQUIRES: not while `infer` runs
  bool is_quantized() const;
  const Sizes& sizes() const {
    return sizes_;
  }

  // Fails unless there are `required` to `required + optional` inputs, the required
  // ones present, and `num_outputs` outputs.
  Status check_operands(size_t required, size_t optional = 0, size_t num_outputs = 1) const;
  // Fails unless every present input is Float32.
  Status check_float() const;
  // The type of all present inputs; fails unless that is Float32 or Float64. REQUIRES: input 0
  StatusOr<DType> check_wide_float() const;

 private:
  const schema::Node& node_;
  Span<const TensorType* const> inputs_;
  Span<const bool> constant_;
  Span<const TensorType> outputs_;
  const Sizes& sizes_;
};

// All that the runtime knows about one operator.
struct OpImpl {
  // Validates attributes and operand types and gives the types of the outputs
  // (as many as the node has). Pure; called at load for the planned sizes and at
  // every reshape.
  Status (*infer)(const NodeContext& node, Span<TensorType> outputs);
  // Decides who computes a node. Pure. Called at load for the planned sizes, so the answer must not depend on sizes
  // that can change, but for `options.xnnpack`; the attributes of a node in XNNPACK hold no expressions but sizes of
  // its output.
  Choice (*choose)(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options);
  // Whether operands and the one result may be quantized.
  bool takes_quantized = true;
};

// Fails if the op cannot have quantized operands.
Status check_quantized(const OpImpl& op, const NodeContext& node);

const OpImpl& op_impl(schema::Attributes type);

// That of each member of schema::Attributes, such as kUnaryOp, which is in runtime/ops/<family>/.
#define ETX_DECLARE(name) extern const OpImpl k##name##Op;
ETX_OPERATORS(ETX_DECLARE)
#undef ETX_DECLARE

} // namespace executorch::backends::et_xnnpack
