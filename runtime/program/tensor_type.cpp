// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "tensor_type.h"

namespace executorch::backends::et_xnnpack {

// Both have the same types.
#define ETX_AGREES(name, ...) \
  static_assert(static_cast<uint8_t>(schema::DType::name) == static_cast<uint8_t>(DType::name));
ETX_DTYPES(ETX_AGREES, ETX_AGREES)
#undef ETX_AGREES
#define ETX_ONE(...) +1
static_assert(static_cast<int>(schema::DType::MAX) + 1 == ETX_DTYPES(ETX_ONE, ETX_ONE));
#undef ETX_ONE

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
