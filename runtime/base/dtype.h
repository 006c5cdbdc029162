// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// Element types, with the numbers that they have in a blob.
enum class DType : uint8_t { Float32, Int32, Int64, Bool, Float16, BFloat16, Int8, UInt8 };

// "Float32"; "unknown" for a number that is no DType.
const char* name_of(DType dtype);

// Bytes of one element; 0 for a number that is no DType.
size_t element_size(DType dtype);

// Whether it is Float16 or BFloat16.
inline bool is_reduced_float(DType dtype) {
  return dtype == DType::Float16 || dtype == DType::BFloat16;
}

// Whether kernels compute numbers of this type.
inline bool is_number(DType dtype) {
  return dtype != DType::Bool && !is_reduced_float(dtype);
}

} // namespace executorch::backends::et_xnnpack
