// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include <executorch/runtime/core/span.h>

#include "kernel.h"
#include "runtime/kernels/elementwise/row.h"
#include "runtime/program/sizes.h"
#include "runtime/base/status.h"
#include "runtime/program/tensor_type.h"

namespace executorch::backends::et_xnnpack {

class SubgraphBuilder;

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

 private:
  const schema::Node& node_;
  Span<const TensorType* const> inputs_;
  Span<const bool> constant_;
  Span<const TensorType> outputs_;
  const Sizes& sizes_;
};

// All that the runtime knows about one operator. Every op has `infer` and at least
// one of `define` and `kernel`.
struct OpImpl {
  // Validates attributes and operand types and gives the types of the outputs
  // (as many as the node has). Pure; called at load for the planned sizes and at
  // every reshape.
  Status (*infer)(const NodeContext& node, Span<TensorType> outputs);
  // Whether XNNPACK runs this node. Decided once, at load, for the planned sizes, so
  // the answer must not depend on sizes that can change, and the attributes of such a node
  // hold no expressions but sizes of its output. Null: never.
  bool (*in_xnnpack)(const NodeContext& node) = nullptr;
  // Adds the node to an XNNPACK subgraph. REQUIRES: in_xnnpack(node)
  Status (*define)(const NodeContext& node, SubgraphBuilder& subgraph) = nullptr;
  // Makes the in-tree implementation; null if there is none.
  std::unique_ptr<Kernel> (*kernel)(const NodeContext& node) = nullptr;
  // Whether the output has the elements of input 0 in the same order: no code runs.
  bool is_view = false;
  // Whether the kernel may write output 0 where input 0 is.
  bool in_place = false;
  // For elementwise ops: what computes a part of the one result from the same part of the
  // operands, so that several nodes can share one pass over memory; null if it cannot.
  std::unique_ptr<Row> (*row)(const NodeContext& node) = nullptr;
  // The same for nodes with quantized operands. What none of these takes is computed in Float32.
  bool (*quantized_in_xnnpack)(const NodeContext& node) = nullptr; // then `define` adds it
  std::unique_ptr<Kernel> (*quantized_kernel)(const NodeContext& node) = nullptr;
  std::unique_ptr<Row> (*quantized_row)(const NodeContext& node) = nullptr;
  // Whether XNNPACK has a node of Float32 operands in Float16, too. Null: always.
  bool (*in_half)(const NodeContext& node) = nullptr;
};

// How a node is implemented, quantized or not.
bool runs_in_xnnpack(const OpImpl& op, const NodeContext& node);
// REQUIRES: it runs in XNNPACK
bool runs_in_half(const OpImpl& op, const NodeContext& node);
bool is_view(const OpImpl& op, const NodeContext& node);
std::unique_ptr<Kernel> make_kernel(const OpImpl& op, const NodeContext& node);
std::unique_ptr<Row> make_row(const OpImpl& op, const NodeContext& node);
// Fails if the op cannot have quantized operands.
Status check_quantized(const OpImpl& op, const NodeContext& node);

inline bool always(const NodeContext&) {
  return true;
}

// The table, one entry for each member of schema::Attributes.
const OpImpl& op_impl(schema::Attributes type);

// runtime/ops/<family>.cpp
extern const OpImpl kUnaryOp, kBinaryOp; // elementwise
extern const OpImpl kLinearOp, kBatchMatMulOp; // linear
extern const OpImpl kConv2dOp, kConvTranspose2dOp; // conv
extern const OpImpl kAvgPool2dOp, kMaxPool2dOp, kAdaptivePool2dOp, kMaxPoolIndicesOp; // pool
extern const OpImpl kReduceOp, kArgReduceOp, kScanOp, kSortOp, kSoftmaxOp; // reduce
extern const OpImpl kLayerNormOp, kRmsNormOp, kGroupNormOp; // norm
extern const OpImpl kAttentionOp, kRotaryEmbeddingOp; // attention
extern const OpImpl kReshapeOp, kTransposeOp, kExpandOp, kConcatOp, kSliceOp, kPadOp; // shape
extern const OpImpl kCompareOp, kWhereOp, kCastOp, kIotaOp, kSizeValueOp; // logic
extern const OpImpl kIndexOp, kGatherOp, kIndexPutOp, kScatterOp, kSliceScatterOp, kMaskedScatterOp,
    kEmbeddingBagOp; // index
extern const OpImpl kResize2dOp, kGridSampleOp; // resize
extern const OpImpl kRecurrentOp; // recurrent
extern const OpImpl kQuantizeOp, kDequantizeOp; // quantize
extern const OpImpl kChooseQParamsOp, kQuantizedLinearOp; // dynamic

} // namespace executorch::backends::et_xnnpack
