// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/dtype.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

enum class Comparison : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// Two operands of `dtype` to Bool, bytes of 0 and 1. REQUIRES: `dtype` is no 16-bit float
std::unique_ptr<Row> compare_row(Comparison comparison, DType dtype);

// The element of operand 1 where operand 0, a Bool, is not 0; else that of operand 2. Those have
// elements of 1, 2, 4 or 8 bytes, which are moved as they are.
std::unique_ptr<Row> where_row(size_t element_size);

} // namespace executorch::backends::et_xnnpack
