// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "dtype.h"

namespace executorch::backends::et_xnnpack {

const char* name_of(DType dtype) {
  switch (dtype) {
#define ETX_CASE(name, ...) \
  case DType::name:         \
    return #name;
    ETX_DTYPES(ETX_CASE, ETX_CASE)
#undef ETX_CASE
  }
  return "unknown";
}

size_t element_size(DType dtype) {
  switch (dtype) {
#define ETX_CASE(name, type) \
  case DType::name:          \
    return sizeof(type);
    ETX_DTYPES(ETX_CASE, ETX_CASE)
#undef ETX_CASE
  }
  return 0;
}

} // namespace executorch::backends::et_xnnpack
