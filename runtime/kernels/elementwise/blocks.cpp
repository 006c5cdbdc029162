// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "blocks.h"

#include <cstring>

namespace executorch::backends::et_xnnpack {

void run_in_blocks(RowFunction function, const BlockSizes& sizes, const RowOperand* operands, void* y, size_t count) {
  const size_t rest = count % sizes.block, whole = count - rest;
  if (whole > 0) {
    function(operands, y, whole);
  }
  if (rest == 0) {
    return;
  }
  constexpr size_t kMaxBytes = kMaxBlock * 8;
  alignas(64) char copies[4][kMaxBytes];
  RowOperand last[3];
  for (size_t k = 0; k < sizes.num_operands; ++k) {
    last[k] = operands[k];
    if (operands[k].moves) {
      const size_t bytes = sizes.operand_bytes[k];
      std::memcpy(copies[k], static_cast<const char*>(operands[k].data) + whole * bytes, rest * bytes);
      std::memset(copies[k] + rest * bytes, 0, (sizes.block - rest) * bytes);
      last[k].data = copies[k];
    }
  }
  function(last, copies[3], sizes.block);
  std::memcpy(static_cast<char*>(y) + whole * sizes.result_bytes, copies[3], rest * sizes.result_bytes);
}

} // namespace executorch::backends::et_xnnpack
