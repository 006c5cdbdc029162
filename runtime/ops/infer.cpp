// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "infer.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack {

StatusOr<Blob> open_blob(Span<const uint8_t> bytes) {
  return Blob::open(bytes, [](const Blob& blob, const Sizes& planned) { return infer_types(blob, planned).status(); });
}

namespace {

// As the program says.
StatusOr<TensorType> declared_type(const schema::Value& value, const Sizes& sizes) {
  TensorType declared;
  declared.dtype = to_dtype(value.dtype());
  if (value.quantization() != nullptr) {
    declared.dtype = DType::Float32;
    declared.quantization = value.quantization();
    declared.quantized_dtype = to_dtype(value.dtype());
  } else if (const schema::Constant* constant = value.constant(); constant != nullptr) {
    declared.constant_dtype = stored_type(*constant, to_dtype(value.dtype()));
  }
  ETX_ASSIGN_OR_RETURN(declared.shape, sizes.resolve(value.dims()));
  ETX_RETURN_IF_ERROR(check_size(declared));
  return declared;
}

constexpr uint32_t kAllWaves = UINT32_MAX;

// Those of one wave.
Status declare_types(const Blob& blob, const Sizes& sizes, uint32_t wave, std::vector<TensorType>& types) {
  types.resize(blob.num_values());
  for (uint32_t id = 0; id < blob.num_values(); ++id) {
    if (wave != kAllWaves && blob.waves().of_value(id) != wave) {
      continue;
    }
    StatusOr<TensorType> declared = declared_type(blob.value(id), sizes);
    if (!declared.ok()) {
      return Status(declared.status()).in("value " + std::to_string(id));
    }
    types[id] = *declared;
  }
  return {};
}

bool have_same_shapes(const std::vector<TensorType>& a, const std::vector<TensorType>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TensorType& x, const TensorType& y) {
    return x.shape == y.shape;
  });
}

// Compares what node `i` makes with `types`, and completes these. `made` is memory to use again.
Status infer_node(
    const Blob& blob, size_t i, const Sizes& sizes, std::vector<TensorType>& types, std::vector<TensorType>& made) {
  const BoundNode bound(blob, i, {types.data(), types.size()}, sizes);
  made.assign(blob.node(i).outputs()->size(), {});
  const OpImpl& op = op_impl(blob.node(i).attributes_type());
  ETX_RETURN_IF_ERROR(check_quantized(op, bound.context()));
  ETX_RETURN_IF_ERROR(op.infer(bound.context(), {made.data(), made.size()}));
  for (uint32_t k = 0; k < made.size(); ++k) {
    TensorType& expected = types[blob.node(i).outputs()->Get(k)];
    ETX_CHECK(
        made[k] == expected,
        InvalidProgram,
        "it makes %s, but the program declares %s",
        made[k].to_string().c_str(),
        expected.to_string().c_str());
    expected.exact_in = made[k].exact_in;
  }
  return {};
}

} // namespace

StatusOr<std::vector<TensorType>> infer_types(const Blob& blob, const Sizes& sizes, Inference* known) {
  std::vector<TensorType> types;
  ETX_RETURN_IF_ERROR(declare_types(blob, sizes, kAllWaves, types));
  const bool same_shapes = known != nullptr && have_same_shapes(known->types, types);
  std::vector<bool> asks(blob.num_nodes());
  if (same_shapes) {
    types = known->types;
    asks = known->asks;
  }
  std::vector<TensorType> made;
  for (size_t i = 0; i < blob.num_nodes(); ++i) {
    if (!same_shapes || asks[i]) {
      (void)sizes.take_asked();
      ETX_RETURN_IF_ERROR_IN(infer_node(blob, i, sizes, types, made), blob.describe(i));
      asks[i] = sizes.take_asked();
    }
  }
  if (known != nullptr && !same_shapes) {
    *known = {types, std::move(asks)};
  }
  return types;
}

Status infer_wave(const Blob& blob, const Sizes& sizes, uint32_t wave, std::vector<TensorType>& types) {
  ETX_RETURN_IF_ERROR(declare_types(blob, sizes, wave, types));
  std::vector<TensorType> made;
  for (size_t i = 0; i < blob.num_nodes(); ++i) {
    if (blob.waves().of_node(i) == wave) {
      ETX_RETURN_IF_ERROR_IN(infer_node(blob, i, sizes, types, made), blob.describe(i));
    }
  }
  return {};
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
