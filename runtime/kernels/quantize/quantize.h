// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/elementwise/row.h"

namespace executorch::backends::et_xnnpack {

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

// The runs of neighbouring elements of a tensor that share a scale.
class ScaleRuns {
 public:
  ScaleRuns() = default;
  // `scale` has rank 0, or the rank of x and sizes that divide those of x, where each element is for a block of x.
  ScaleRuns(const Shape& x, const Shape& scale);

  // Elements of one run.
  size_t size() const {
    return run_;
  }
  size_t count() const {
    return size_ == 0 ? 0 : size_ / run_;
  }
  // Which scale run i has.
  size_t scale(size_t i) const;

 private:
  struct Axis {
    size_t size, block, stride;
  };
  size_t size_ = 0, run_ = 1, rank_ = 0;
  std::array<Axis, kMaxRank> axes_{};
};

struct QuantizeTensorParameters {
  DType dtype = DType::Int8; // of the output: Int8 or UInt8
  int32_t min = 0, max = 0; // integers between which the output stays
  Shape shape, scale; // of input and output; of scales and zero points, as of ScaleRuns
};

// Input 0 Float32, 1, scales, Float32, 2, zero points, Int32 -> output 0, integers.
class QuantizeTensor {
 public:
  size_t reshape(const QuantizeTensorParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  QuantizeTensorParameters parameters_;
  ScaleRuns runs_;
};

struct DequantizeTensorParameters {
  DType dtype = DType::Int8; // of the input: Int8, UInt8 or Int32
  Shape shape, scale;
};

// The other way round.
class DequantizeTensor {
 public:
  size_t reshape(const DequantizeTensorParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  DType dtype_ = DType::Int8;
  ScaleRuns runs_;
};

// The same for rows with one scale and zero point for all.
std::unique_ptr<Row> make_quantize_row(DType dtype, int32_t min, int32_t max);
std::unique_ptr<Row> make_dequantize_row(DType dtype);

} // namespace executorch::backends::et_xnnpack
