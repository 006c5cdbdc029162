// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"
#include "runtime/kernels/elementwise/row.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_quantize(const NodeContext& node);
std::unique_ptr<Kernel> make_dequantize(const NodeContext& node);
// Null unless one scale is for all.
std::unique_ptr<Row> make_quantize_row(const NodeContext& node);
std::unique_ptr<Row> make_dequantize_row(const NodeContext& node);

// q = round(x * inverse_scale) + zero_point, half to even, within [min, max]; 0 for NaN.
struct QuantizeParameters {
  float inverse_scale = 1, zero_point = 0, min = 0, max = 0;
};
// T is int8_t or uint8_t.
template <typename T>
using QuantizeRow = void (*)(const float* x, T* q, size_t count, const QuantizeParameters& parameters);
// x = (q - zero_point) * scale. T is int8_t, uint8_t or int32_t.
template <typename T>
using DequantizeRow = void (*)(const T* q, float* x, size_t count, float scale, float zero_point);

// The variant for the CPU.
template <typename T>
QuantizeRow<T> quantize_row();
template <typename T>
DequantizeRow<T> dequantize_row();

} // namespace executorch::backends::et_xnnpack
