// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "column_panels.h"

namespace executorch::backends::et_xnnpack {

// A matrix product with weights of 4 bits. A panel has for each group its blocks of 8 weights, for each block 32 bits of
// each column: the first weight in the lowest four. What is missing of a block is multiplied by zeros in x.
struct Int4Product {
  static constexpr size_t kBlock = 8;

  const float* x = nullptr; // [rows, padded_depth()]
  size_t rows = 0;
  const uint32_t* panels = nullptr;
  const float* scale = nullptr; // panel by panel, [groups, width]
  const float* zero_point = nullptr; // likewise; null: all are 0
  size_t groups = 1, group_size = 0;
  const float* bias = nullptr; // null: 0
  float* y = nullptr; // [rows, columns]
  ColumnPanels columns;
  float min = 0, max = 0;

  size_t blocks_of_group() const {
    return (group_size + kBlock - 1) / kBlock;
  }
  size_t blocks() const {
    return groups * blocks_of_group();
  }
  size_t padded_depth() const {
    return blocks() * kBlock;
  }
  const uint32_t* panel(size_t i) const {
    return panels + i * ColumnPanels::kPanel * blocks();
  }
};

} // namespace executorch::backends::et_xnnpack
