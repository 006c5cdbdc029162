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
#define ETX_NUMBER(name, type) \
  case DType::name:            \
    return function(type());
#define ETX_REDUCED_FLOAT(name, type) \
  case DType::name:                   \
    break;
    ETX_DTYPES(ETX_NUMBER, ETX_REDUCED_FLOAT)
#undef ETX_NUMBER
#undef ETX_REDUCED_FLOAT
  }
  return function(uint8_t());
}

} // namespace executorch::backends::et_xnnpack
