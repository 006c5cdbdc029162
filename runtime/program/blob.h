// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <string>

#include <executorch/runtime/core/span.h>

#include "runtime/base/status.h"
#include "sizes.h"
#include "tensor_type.h"
#include "waves.h"

namespace executorch::backends::et_xnnpack {

// An operand slot that is not filled, and a graph input that is no tensor; as in the schema.
constexpr uint32_t kNone = 0xFFFFFFFF;

// A verified delegate blob. The only trust border: bytes that pass open() have every
// property that the rest of the runtime relies on, and nothing is checked again:
//  - all sizes, enums, ids, axes and expression operands are in range;
//  - nodes are in topological order, every value is written once, and what is read is
//    an input, a constant, the content of a state or written before;
//  - what depends on a size that a node finds comes after that node;
//  - graph outputs and updates of states are written by nodes, each is a different value;
//  - at the planned sizes every node passed its op's `infer` and makes the types declared.
// Owns a copy of the bytes, so the caller may free them. Immutable, so any thread may
// read it, and copies share the bytes.
class Blob {
 public:
  // What operators say about their nodes at these sizes. They are above this folder: open_blob() in
  // runtime/ops/infer.h opens a blob with their check, and nothing else does.
  using NodeCheck = Status (*)(const Blob& blob, const Sizes& planned);

  // Fails with InvalidProgram, or DelegateInvalidCompatibility if the blob needs a
  // feature that this runtime lacks.
  static StatusOr<Blob> open(Span<const uint8_t> bytes, NodeCheck check_nodes);

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
  const Waves& waves() const {
    return *waves_;
  }
  bool is_constant(uint32_t value_id) const {
    return value(value_id).constant() != nullptr;
  }

  // "12 Conv2d", the same ahead of time
  std::string name(size_t node) const;
  // "node 12 Conv2d (debug handle 34)"
  std::string describe(size_t node) const;

 private:
  Blob() = default;

  std::shared_ptr<uint8_t[]> bytes_;
  std::shared_ptr<const Waves> waves_;
  const schema::Graph* graph_ = nullptr;
};

// The blob as text, one line for each input, constant, node with its attributes, and output.
std::string inspect(const Blob& blob);

} // namespace executorch::backends::et_xnnpack
