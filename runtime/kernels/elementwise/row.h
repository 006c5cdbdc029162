// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// What a row reads: one element for each one of the result, or (if it does not move) one for all.
struct RowOperand {
  const void* data;
  bool moves;
};

// One elementwise node, for as many neighbouring elements of its result as the caller wants at
// a time. What FusedElementwise strings together.
class Row {
 public:
  virtual ~Row() = default;
  // `y` overlaps no operand.
  virtual void run(const RowOperand* operands, void* y, size_t count) const = 0;
};

} // namespace executorch::backends::et_xnnpack
