// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// A matrix product with quantized weights of 8 or 4 bits. With 4 bits the size of a group is even.
struct QuantizedProduct {
  const float* x = nullptr; // [rows, depth]; with 4 bits of each row the even elements, then the odd ones
  size_t rows = 0, depth = 0;
  const uint8_t* weight = nullptr; // [columns, row_bytes()]
  bool is_4bit = false;
  const float* scale = nullptr; // [columns, groups]
  const int32_t* zero_point = nullptr; // [columns, groups]; null: 0
  size_t groups = 1;
  const float* bias = nullptr; // null: 0
  float* y = nullptr; // [rows, columns]
  size_t columns = 0;
  float min = 0, max = 0;

  size_t row_bytes() const {
    return is_4bit ? depth / 2 : depth;
  }
  // What is subtracted from the stored integers of a group.
  float offset(size_t column, size_t group) const {
    const float zero = zero_point == nullptr ? 0 : static_cast<float>(zero_point[column * groups + group]);
    return is_4bit ? zero + 8 : zero;
  }
};

} // namespace executorch::backends::et_xnnpack
