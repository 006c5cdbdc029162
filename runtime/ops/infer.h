// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "op.h"
#include "runtime/program/blob.h"

namespace executorch::backends::et_xnnpack {

// Opens a blob whose nodes their operators accept at the planned sizes. Fails as Blob::open does.
StatusOr<Blob> open_blob(Span<const uint8_t> bytes);

// What is known of a blob from earlier sizes.
struct Inference {
  std::vector<TensorType> types; // without any if nothing is known
  std::vector<bool> asks; // by node: whether `infer` asks for more than the types of operands
};

// The types of all values at these sizes, through `infer` of every node. Fails if a node does not accept its operands or
// makes another type than declared. With `known`, which it brings up to date, only those nodes are asked again that can
// answer differently.
StatusOr<std::vector<TensorType>> infer_types(const Blob& blob, const Sizes& sizes, Inference* known = nullptr);

// The same of what is in wave `wave` only; other types stay as they are, and those of earlier waves are known.
Status infer_wave(const Blob& blob, const Sizes& sizes, uint32_t wave, std::vector<TensorType>& types);

// A node of a blob with the types of its operands. Borrows blob, types and sizes.
class BoundNode {
 public:
  BoundNode(const Blob& blob, size_t node, Span<const TensorType> types, const Sizes& sizes);
  // With this value as input 0.
  BoundNode(const Blob& blob, size_t node, uint32_t first, Span<const TensorType> types, const Sizes& sizes)
      : BoundNode(blob, node, types, sizes) {
    if (first != kNone) {
      inputs_.front() = &types[first];
    }
  }

  const NodeContext& context() const {
    return context_;
  }

 private:
  std::vector<const TensorType*> inputs_;
  std::unique_ptr<bool[]> constant_;
  std::vector<TensorType> outputs_;
  NodeContext context_;
};

} // namespace executorch::backends::et_xnnpack
