// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "infer.h"

namespace executorch::backends::et_xnnpack {

StatusOr<Blob> open_blob(Span<const uint8_t> bytes) {
  return Blob::open(bytes, [](const Blob& blob, const Sizes& planned) { return infer_types(blob, planned).status(); });
}

StatusOr<std::vector<TensorType>> infer_types(const Blob& blob, const Sizes& sizes) {
  std::vector<TensorType> declared(blob.num_values());
  for (uint32_t id = 0; id < blob.num_values(); ++id) {
    declared[id].dtype = to_dtype(blob.value(id).dtype());
    if (blob.value(id).quantization() != nullptr) {
      declared[id].dtype = DType::Float32;
      declared[id].quantization = blob.value(id).quantization();
      declared[id].quantized_dtype = to_dtype(blob.value(id).dtype());
    } else if (const schema::Constant* constant = blob.value(id).constant(); constant != nullptr) {
      declared[id].constant_dtype = stored_type(*constant, to_dtype(blob.value(id).dtype()));
    }
    StatusOr<Shape> shape = sizes.resolve(blob.value(id).dims());
    if (!shape.ok()) {
      return Status(shape.status()).in("value " + std::to_string(id));
    }
    declared[id].shape = *shape;
    ETX_RETURN_IF_ERROR_IN(check_size(declared[id]), "value " + std::to_string(id));
  }
  std::vector<TensorType> made;
  for (size_t i = 0; i < blob.num_nodes(); ++i) {
    const BoundNode bound(blob, i, {declared.data(), declared.size()}, sizes);
    made.assign(blob.node(i).outputs()->size(), {});
    const OpImpl& op = op_impl(blob.node(i).attributes_type());
    ETX_RETURN_IF_ERROR_IN(check_quantized(op, bound.context()), blob.describe(i));
    ETX_RETURN_IF_ERROR_IN(op.infer(bound.context(), {made.data(), made.size()}), blob.describe(i));
    for (uint32_t k = 0; k < made.size(); ++k) {
      TensorType& expected = declared[blob.node(i).outputs()->Get(k)];
      if (made[k] != expected) {
        return failure(
                   Error::InvalidProgram,
                   "it makes %s, but the program declares %s",
                   made[k].to_string().c_str(),
                   expected.to_string().c_str())
            .in(blob.describe(i));
      }
      expected.exact_in = made[k].exact_in;
    }
  }
  return declared;
}

BoundNode::BoundNode(const Blob& blob, size_t i, Span<const TensorType> types, const Sizes& sizes)
    : inputs_(blob.node(i).inputs() == nullptr ? 0 : blob.node(i).inputs()->size()),
      constant_(std::make_unique<bool[]>(inputs_.size())),
      outputs_(blob.node(i).outputs()->size()),
      context_(
          blob.node(i),
          {inputs_.data(), inputs_.size()},
          {constant_.get(), inputs_.size()},
          {outputs_.data(), outputs_.size()},
          sizes) {
  const schema::Node& node = blob.node(i);
  for (uint32_t k = 0; k < inputs_.size(); ++k) {
    const uint32_t id = node.inputs()->Get(k);
    if (id != kNone) {
      inputs_[k] = &types[id];
      constant_[k] = blob.is_constant(id);
    }
  }
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    outputs_[k] = types[node.outputs()->Get(k)];
  }
}

} // namespace executorch::backends::et_xnnpack
