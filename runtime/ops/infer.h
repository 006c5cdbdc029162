// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "op.h"
#include "runtime/program/blob.h"

namespace executorch::backends::et_xnnpack {

// Opens a blob whose nodes their operators accept at the planned sizes. Fails as Blob::open does.
StatusOr<Blob> open_blob(Span<const uint8_t> bytes);

// The types of all values at these sizes, through `infer` of every node. Fails if a
// node does not accept its operands or makes another type than declared.
StatusOr<std::vector<TensorType>> infer_types(const Blob& blob, const Sizes& sizes);

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

} // namespace executorch::backends::et_xnnpack
