// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// Calls function(T()) with the C++ type of `dtype`, uint8_t for Bool. REQUIRES: it is not a 16-bit float
template <typename Function>
auto with_type(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::Float32:
      return function(float());
    case DType::Int32:
      return function(int32_t());
    case DType::Int64:
      return function(int64_t());
    case DType::Int8:
      return function(int8_t());
    case DType::Bool:
    case DType::UInt8:
    case DType::Float16:
    case DType::BFloat16:
      break;
  }
  return function(uint8_t());
}

} // namespace executorch::backends::et_xnnpack
