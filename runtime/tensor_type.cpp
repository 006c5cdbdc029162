// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "tensor_type.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack {

bool Shape::operator==(const Shape& other) const {
  return rank == other.rank && std::equal(dims.begin(), dims.begin() + rank, other.dims.begin());
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (size_t axis = 0; axis < rank; ++axis) {
    text += (axis == 0 ? "" : ", ") + std::to_string(dims[axis]);
  }
  return text + "]";
}

size_t element_size(DType dtype) {
  switch (dtype) {
    case DType::Float32:
    case DType::Int32:
      return 4;
    case DType::Int64:
      return 8;
    case DType::Bool:
    case DType::Int8:
    case DType::UInt8:
      return 1;
    case DType::Float16:
    case DType::BFloat16:
      return 2;
  }
  return 0;
}

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
  return schema::EnumNameDType(dtype) + shape.to_string();
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
