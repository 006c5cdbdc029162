// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/core/span.h>

#include "runtime/ops/op.h"
#include "sizes.h"
#include "runtime/base/status.h"
#include "tensor_type.h"

namespace executorch::backends::et_xnnpack {

// An operand slot that is not filled, and a graph input that is no tensor.
constexpr uint32_t kNone = 0xFFFFFFFF;

// A verified delegate blob. The only trust border: bytes that pass open() have every
// property that the rest of the runtime relies on, and nothing is checked again:
//  - all ids, axes and expression operands are in range;
//  - nodes are in topological order, every value is written once, and what is read is
//    an input, a constant, the content of a state or written before;
//  - graph outputs and updates of states are written by nodes, each is a different value;
//  - at the planned sizes every node passed its op's `infer` and makes the types declared.
// Owns a copy of the bytes, so the caller may free them. Immutable, so any thread may
// read it, and copies share the bytes.
class Blob {
 public:
  // Fails with InvalidProgram, or DelegateInvalidCompatibility if the blob needs a
  // feature that this runtime lacks.
  static StatusOr<Blob> open(Span<const uint8_t> bytes);

  const schema::Graph& graph() const {
    return *graph_;
  }
  size_t num_values() const {
    return graph_->values()->size();
  }
  size_t num_nodes() const {
    return graph_->nodes() == nullptr ? 0 : graph_->nodes()->size();
  }
  size_t num_inputs() const {
    return graph_->inputs() == nullptr ? 0 : graph_->inputs()->size();
  }
  size_t num_outputs() const {
    return graph_->outputs() == nullptr ? 0 : graph_->outputs()->size();
  }
  size_t num_states() const {
    return graph_->states() == nullptr ? 0 : graph_->states()->size();
  }
  const schema::State& state(size_t i) const {
    return *graph_->states()->Get(static_cast<uint32_t>(i));
  }
  const schema::Node& node(size_t i) const {
    return *graph_->nodes()->Get(static_cast<uint32_t>(i));
  }
  const schema::Value& value(uint32_t id) const {
    return *graph_->values()->Get(id);
  }
  bool is_constant(uint32_t value_id) const {
    return value(value_id).constant() != nullptr;
  }

  // The types of all values at these sizes, through `infer` of every node. Fails if a
  // node does not accept its operands or makes another type than declared.
  StatusOr<std::vector<TensorType>> infer_types(const Sizes& sizes) const;

  // "12 Conv2d", the same ahead of time
  std::string name(size_t node) const;
  // "node 12 Conv2d (debug handle 34)"
  std::string describe(size_t node) const;

 private:
  friend class BlobVerifier;
  Blob() = default;

  std::shared_ptr<uint8_t[]> bytes_;
  const schema::Graph* graph_ = nullptr;
};

// A node of a blob with the types of its operands. Borrows blob, types and sizes.
class BoundNode {
 public:
  BoundNode(const Blob& blob, size_t node, Span<const TensorType> types, const Sizes& sizes);

  const NodeContext& context() const {
    return context_;
  }

 private:
  std::vector<const TensorType*> inputs_;
  std::unique_ptr<bool[]> constant_;
  std::vector<TensorType> outputs_;
  NodeContext context_;
};

// The blob as text, one line for each input, constant, node with its attributes, and output.
std::string inspect(const Blob& blob);

} // namespace executorch::backends::et_xnnpack
