// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// Element types in the order of their numbers in a blob, with the C++ type of an element; for the floats of 16 bits,
// which C++ does not have, that of its bits.
// clang-format off
#define ETX_DTYPES(NUMBER, REDUCED_FLOAT) \
  NUMBER(Float32, float) NUMBER(Int32, int32_t) NUMBER(Int64, int64_t) NUMBER(Bool, uint8_t) \
  REDUCED_FLOAT(Float16, uint16_t) REDUCED_FLOAT(BFloat16, uint16_t) NUMBER(Int8, int8_t) NUMBER(UInt8, uint8_t) \
  NUMBER(Float64, double)
// clang-format on

enum class DType : uint8_t {
#define ETX_MEMBER(name, ...) name,
  ETX_DTYPES(ETX_MEMBER, ETX_MEMBER)
#undef ETX_MEMBER
};

// "Float32"; "unknown" for a number that is no DType.
const char* name_of(DType dtype);

// Bytes of one element; 0 for a number that is no DType.
size_t element_size(DType dtype);

// Whether it is Float16 or BFloat16.
inline bool is_reduced_float(DType dtype) {
  return dtype == DType::Float16 || dtype == DType::BFloat16;
}

// Whether it is a float of any size.
inline bool is_float(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || is_reduced_float(dtype);
}

// Whether kernels compute numbers of this type.
inline bool is_number(DType dtype) {
  return dtype != DType::Bool && !is_reduced_float(dtype);
}

} // namespace executorch::backends::et_xnnpack
