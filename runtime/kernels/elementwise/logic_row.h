// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/ops/op.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

using RowFunction = void (*)(const RowOperand* operands, void* y, size_t count);

// Bytes of 0 and 1. REQUIRES: `dtype` is no 16-bit float
RowFunction compare_row(schema::CompareKind kind, DType dtype);

// The element of operand 1 where operand 0, bytes, is not 0; else that of operand 2.
RowFunction where_row(size_t element_size);

// Null for divisions, which can fail, and for what is not of integers.
RowFunction integer_row(schema::BinaryKind kind, DType dtype);

class FunctionRow final : public Row {
 public:
  explicit FunctionRow(RowFunction function) : function_(function) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    function_(operands, y, count);
  }

 private:
  RowFunction function_;
};

} // namespace executorch::backends::et_xnnpack
