// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "op.h"
#include "runtime/program/blob.h"

namespace executorch::backends::et_xnnpack {

// Opens a blob whose nodes their operators accept at the planned sizes. Fails as Blob::open does.
StatusOr<Blob> open_blob(Span<const uint8_t> bytes);

// What is known of a blob once its types are.
struct Inference {
  std::vector<bool> asks; // by node: whether `infer` asks for more than the types of operands; without any if not known
  std::vector<uint32_t> dynamic; // values whose shapes depend on the call
};

// The types of all values at these sizes, through `infer` of every node. Fails if a node does not accept its operands or
// makes another type than declared.
StatusOr<std::vector<TensorType>> infer_types(const Blob& blob, const Sizes& sizes, Inference* found = nullptr);

// Whether all values have the shapes that they have in `types`, which came with `known`; false if nothing is known. If so,
// those nodes are asked again that can answer differently. Fails as infer_types does.
StatusOr<bool> infer_again(
    const Blob& blob, const Sizes& sizes, const Inference& known, const std::vector<TensorType>& types);

// The same of what is in wave `wave` only; other types stay as they are, and those of earlier waves are known.
Status infer_wave(const Blob& blob, const Sizes& sizes, uint32_t wave, std::vector<TensorType>& types);

// A node of a blob with the types of its operands. Borrows blob, types and sizes.
class BoundNode {
 public:
  BoundNode(const Blob& blob, size_t node, Span<const TensorType> types, const Sizes& sizes);
  // With these values as operands, those of the blob but for their types.
  BoundNode(
      const Blob& blob, size_t node, Span<const uint32_t> operands, Span<const TensorType> types, const Sizes& sizes)
      : BoundNode(blob, node, types, sizes) {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (inputs_[k] != nullptr) {
        inputs_[k] = &types[operands[k]];
      }
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
