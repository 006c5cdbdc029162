// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// The named data that a blob asks for.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <runtime/ops/infer.h>
#include <runtime/program/constant.h>

namespace executorch::backends::et_xnnpack::testing {

struct DeclaredWeight {
  size_t bytes = 0; // of the largest constant with this key
  DType dtype = DType::Float32; // of the last one
};

// By key. `types` are those of all values.
inline std::map<std::string, DeclaredWeight> declared_weights(const Blob& blob, const std::vector<TensorType>& types) {
  std::map<std::string, DeclaredWeight> declared;
  const auto add = [&](uint32_t id, const schema::Constant* constant) {
    if (constant == nullptr || constant->key() == nullptr) {
      return;
    }
    TensorType type = types[id];
    type.quantization = nullptr;
    type.dtype = stored_type(*constant, to_dtype(blob.value(id).dtype()));
    DeclaredWeight& weight = declared[constant->key()->str()];
    weight.bytes = std::max(weight.bytes, type.bytes());
    weight.dtype = type.dtype;
  };
  for (uint32_t id = 0; id < blob.num_values(); ++id) {
    add(id, blob.value(id).constant());
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    add(blob.state(i).value(), blob.state(i).initial());
  }
  return declared;
}

} // namespace executorch::backends::et_xnnpack::testing
