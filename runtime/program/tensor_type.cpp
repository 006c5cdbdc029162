// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "tensor_type.h"

namespace executorch::backends::et_xnnpack {

template <schema::DType kSchema, DType kOurs>
constexpr bool kAgree = static_cast<uint8_t>(kSchema) == static_cast<uint8_t>(kOurs);
static_assert(
    kAgree<schema::DType::Float32, DType::Float32> && kAgree<schema::DType::Int32, DType::Int32> &&
    kAgree<schema::DType::Int64, DType::Int64> && kAgree<schema::DType::Bool, DType::Bool> &&
    kAgree<schema::DType::Float16, DType::Float16> && kAgree<schema::DType::BFloat16, DType::BFloat16> &&
    kAgree<schema::DType::Int8, DType::Int8> && kAgree<schema::DType::UInt8, DType::UInt8> &&
    schema::DType::MAX == schema::DType::UInt8);

DType stored_type(const schema::Constant& constant, DType dtype) {
  switch (constant.storage()) {
    case schema::Storage::Plain:
      break;
    case schema::Storage::Float16:
      return DType::Float16;
    case schema::Storage::BFloat16:
      return DType::BFloat16;
  }
  return dtype;
}

std::string TensorType::to_string() const {
  return name_of(dtype) + shape.to_string();
}

Status check_size(const TensorType& type) {
  size_t bytes = element_size(type.dtype);
  bool fits = true;
  bool empty = false;
  for (size_t axis = 0; axis < type.shape.rank; ++axis) {
    empty = empty || type.shape[axis] == 0;
    fits = fits && !__builtin_mul_overflow(bytes, type.shape[axis], &bytes) && bytes <= kMaxTensorBytes;
  }
  ETX_CHECK(fits || empty, InvalidProgram, "a tensor %s is larger than 1 TiB", type.to_string().c_str());
  return {};
}

} // namespace executorch::backends::et_xnnpack
