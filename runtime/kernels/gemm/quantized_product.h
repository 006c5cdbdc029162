// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// A matrix product with quantized weights of 8 bits.
struct QuantizedProduct {
  const float* x = nullptr; // [rows, depth]
  size_t rows = 0, depth = 0;
  const int8_t* weight = nullptr; // [columns, depth]
  const float* scale = nullptr; // [columns, groups]
  const int32_t* zero_point = nullptr; // [columns, groups]; null: 0
  size_t groups = 1;
  const float* bias = nullptr; // null: 0
  float* y = nullptr; // [rows, columns]
  size_t columns = 0;
  float min = 0, max = 0;

  // What is subtracted from the stored integers of a group.
  float offset(size_t column, size_t group) const {
    return zero_point == nullptr ? 0 : static_cast<float>(zero_point[column * groups + group]);
  }
};

} // namespace executorch::backends::et_xnnpack
