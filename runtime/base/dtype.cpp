// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "dtype.h"

namespace executorch::backends::et_xnnpack {

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return "Float32";
    case DType::Int32:
      return "Int32";
    case DType::Int64:
      return "Int64";
    case DType::Bool:
      return "Bool";
    case DType::Float16:
      return "Float16";
    case DType::BFloat16:
      return "BFloat16";
    case DType::Int8:
      return "Int8";
    case DType::UInt8:
      return "UInt8";
  }
  return "unknown";
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

} // namespace executorch::backends::et_xnnpack
