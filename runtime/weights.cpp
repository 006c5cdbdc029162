// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "weights.h"

#include <cstring>

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::runtime::Result;

StatusOr<TensorType> constant_type(const Blob& blob, uint32_t value) {
  ETX_ASSIGN_OR_RETURN(const Shape shape, Sizes().resolve(blob.value(value).dims()));
  return TensorType{blob.value(value).dtype(), shape};
}

} // namespace

StatusOr<const void*> Weights::constant(uint32_t value, SubgraphBuilder::Use use) {
  const auto known = kept_by_value_.find(value);
  if (known != kept_by_value_.end()) {
    return known->second;
  }
  ETX_CHECK(blob_.is_constant(value), Internal, "value %u is not a constant", value);
  ETX_ASSIGN_OR_RETURN(const TensorType type, constant_type(blob_, value));
  ETX_ASSIGN_OR_RETURN(const void* data, borrow(*blob_.value(value).constant(), type.bytes()));
  const bool aligned = reinterpret_cast<uintptr_t>(data) % element_size(type.dtype) == 0;
  if (use == SubgraphBuilder::Use::Packed && aligned) {
    return data;
  }
  ETX_ASSIGN_OR_RETURN(Buffer copy, Buffer::allocate(type.bytes()));
  std::memcpy(copy.data(), data, type.bytes());
  kept_.push_back(std::move(copy));
  kept_by_value_[value] = kept_.back().data();
  return static_cast<const void*>(kept_.back().data());
}

Status Weights::copy(const schema::Constant& constant, size_t bytes, void* to) {
  ETX_ASSIGN_OR_RETURN(const void* data, borrow(constant, bytes));
  if (bytes > 0) {
    std::memcpy(to, data, bytes);
  }
  return {};
}

StatusOr<const void*> Weights::borrow(const schema::Constant& constant, size_t bytes) {
  if (constant.data() != nullptr) {
    return static_cast<const void*>(constant.data()->data());
  }
  const char* key = constant.key()->c_str();
  ETX_CHECK(named_data_ != nullptr, InvalidProgram, "weight %s: the program carries no named data", key);
  Result<FreeableBuffer> data = named_data_->get_data(key);
  ETX_CHECK(data.ok(), InvalidProgram, "weight %s is not in the program or its .ptd files", key);
  ETX_CHECK(
      data->size() >= bytes,
      InvalidProgram,
      "weight %s has %zu bytes, %zu are needed",
      key,
      data->size(),
      bytes);
  const Result<const void*> pointer = data->data_safe();
  ETX_CHECK(pointer.ok(), NotSupported, "weight %s is not in memory that this CPU can address", key);
  borrowed_.push_back(std::move(*data));
  return *pointer;
}

} // namespace executorch::backends::et_xnnpack
