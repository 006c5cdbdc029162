// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantized_bytes.h"

#include "runtime/kernels/quantize/quantize.h"

namespace executorch::backends::et_xnnpack {

void dequantize_bytes(const ByteQuantization& type, const uint8_t* q, float* x, size_t count) {
  const auto zero_point = static_cast<float>(type.zero_point);
  if (type.stored == DType::Int8) {
    dequantize_row<int8_t>()(reinterpret_cast<const int8_t*>(q), x, count, type.scale, zero_point);
  } else {
    dequantize_row<uint8_t>()(q, x, count, type.scale, zero_point);
  }
}

void quantize_bytes(const ByteQuantization& type, const float* x, uint8_t* q, size_t count) {
  const auto zero_point = static_cast<float>(type.zero_point);
  if (type.stored == DType::Int8) {
    const QuantizeParameters parameters{1 / type.scale, zero_point, INT8_MIN, INT8_MAX};
    quantize_row<int8_t>()(x, reinterpret_cast<int8_t*>(q), count, parameters);
  } else {
    quantize_row<uint8_t>()(x, q, count, {1 / type.scale, zero_point, 0, UINT8_MAX});
  }
}

} // namespace executorch::backends::et_xnnpack
