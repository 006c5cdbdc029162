// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/dtype.h"

namespace executorch::backends::et_xnnpack {

// What a byte stands for: (q - zero_point) * scale.
struct ByteQuantization {
  DType stored = DType::Int8; // or UInt8
  float scale = 1;
  int32_t zero_point = 0;
};

void dequantize_bytes(const ByteQuantization& type, const uint8_t* q, float* x, size_t count);

// Rounds half to even.
void quantize_bytes(const ByteQuantization& type, const float* x, uint8_t* q, size_t count);

} // namespace executorch::backends::et_xnnpack
