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

// Compares what node `i` makes, which `made` then holds, with `types`.
Status check_node(
    const Blob& blob,
    size_t i,
    const Sizes& sizes,
    const std::vector<TensorType>& types,
    std::vector<TensorType>& made) {
  const BoundNode bound(blob, i, {types.data(), types.size()}, sizes);
  made.assign(blob.node(i).outputs()->size(), {});
  const OpImpl& op = op_impl(blob.node(i).attributes_type());
  ETX_RETURN_IF_ERROR(check_quantized(op, bound.context()));
  ETX_RETURN_IF_ERROR(op.infer(bound.context(), {made.data(), made.size()}));
  for (uint32_t k = 0; k < made.size(); ++k) {
    const TensorType& expected = types[blob.node(i).outputs()->Get(k)];
    ETX_CHECK(
        made[k] == expected,
        InvalidProgram,
        "it makes %s, but the program declares %s",
        made[k].to_string().c_str(),
        expected.to_string().c_str());
  }
  return {};
}

// The same, and completes `types`. `made` is memory to use again.
Status infer_node(
    const Blob& blob, size_t i, const Sizes& sizes, std::vector<TensorType>& types, std::vector<TensorType>& made) {
  ETX_RETURN_IF_ERROR(check_node(blob, i, sizes, types, made));
  for (uint32_t k = 0; k < made.size(); ++k) {
    TensorType& type = types[blob.node(i).outputs()->Get(k)];
    type.exact_in = type.quantization == nullptr ? made[k].exact_in : DType::Float32;
  }
  return {};
}

bool is_dynamic(const schema::Value& value) {
  const auto* const dims = value.dims();
  return dims != nullptr &&
      std::any_of(dims->begin(), dims->end(), [](const schema::Size* size) { return entry_of(size) < 0; });
}

} // namespace

StatusOr<std::vector<TensorType>> infer_types(const Blob& blob, const Sizes& sizes, Inference* found) {
  std::vector<TensorType> types, made;
  ETX_RETURN_IF_ERROR(declare_types(blob, sizes, kAllWaves, types));
  std::vector<bool> asks(blob.num_nodes());
  for (size_t i = 0; i < blob.num_nodes(); ++i) {
    (void)sizes.take_asked();
    ETX_RETURN_IF_ERROR_IN(infer_node(blob, i, sizes, types, made), blob.describe(i));
    asks[i] = sizes.take_asked();
  }
  if (found != nullptr) {
    *found = {std::move(asks), {}};
    for (uint32_t id = 0; id < blob.num_values(); ++id) {
      if (is_dynamic(blob.value(id))) {
        found->dynamic.push_back(id);
      }
    }
  }
  return types;
}

StatusOr<bool> infer_again(
    const Blob& blob, const Sizes& sizes, const Inference& known, const std::vector<TensorType>& types) {
  if (known.asks.empty()) {
    return false;
  }
  for (const uint32_t id : known.dynamic) {
    StatusOr<Shape> shape = sizes.resolve(blob.value(id).dims());
    if (!shape.ok() || *shape != types[id].shape) {
      return false;
    }
  }
  std::vector<TensorType> made;
  for (size_t i = 0; i < known.asks.size(); ++i) {
    if (known.asks[i]) {
      ETX_RETURN_IF_ERROR_IN(check_node(blob, i, sizes, types, made), blob.describe(i));
    }
  }
  return true;
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
