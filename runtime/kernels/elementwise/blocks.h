// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "row.h"

namespace executorch::backends::et_xnnpack {

// What a row function that works in blocks reads and writes: at most three operands, elements of at most 8 bytes.
struct BlockSizes {
  size_t block; // elements, at most kMaxBlock
  size_t num_operands;
  size_t operand_bytes[3]; // of an element
  size_t result_bytes;
};

inline constexpr size_t kMaxBlock = 64;

// Calls `function`, which takes whole blocks only, for all elements: for those that are left over once more, with
// copies of them in a block.
void run_in_blocks(RowFunction function, const BlockSizes& sizes, const RowOperand* operands, void* y, size_t count);

// The operands in the other order.
template <RowFunction kFunction>
void swapped(const RowOperand* operands, void* y, size_t count) {
  const RowOperand other[] = {operands[1], operands[0]};
  kFunction(other, y, count);
}

} // namespace executorch::backends::et_xnnpack
