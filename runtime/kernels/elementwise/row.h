// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// What a row reads: one element for each one of the result, or (if it does not move) one for all.
struct RowOperand {
  const void* data;
  bool moves;
};

// One elementwise function, for as many neighbouring elements of its result as the caller wants at
// a time. What FusedElementwise strings together. Used by one pass at a time, on all of its threads.
class Row {
 public:
  virtual ~Row() = default;
  // `y` overlaps no operand.
  virtual void run(const RowOperand* operands, void* y, size_t count) const = 0;
  // Why there is no result for elements that run() got since the last call, a sentence; null if there is one.
  virtual const char* take_failure() {
    return nullptr;
  }
};

// `y` overlaps no operand.
using RowFunction = void (*)(const RowOperand* operands, void* y, size_t count);

// A row that has no parameters.
class FunctionRow final : public Row {
 public:
  // REQUIRES: not null
  explicit FunctionRow(RowFunction function) : function_(function) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    function_(operands, y, count);
  }

 private:
  RowFunction function_;
};

} // namespace executorch::backends::et_xnnpack
