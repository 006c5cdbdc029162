// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>

#include "low_precision_product.h"
#include "matrix_product.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// A matrix product of inputs 0 and 1, with an optional bias as input 2, all of Float32. The pointers of the
// parameters do not count.
class MatMul {
 public:
  size_t reshape(const MatrixProduct& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  MatrixProduct product_;
};

struct LowPrecisionMatMulParameters {
  size_t batch = 1, rows = 0, depth = 0, columns = 0;
  bool b_transposed = false; // b is [batch, columns, depth], else [batch, depth, columns]
  LowPrecision precision; // b stays in Float16, BFloat16 or Int8
  WeightScales scales; // of b, if it is one matrix of Int8, transposed
  bool has_scale_input = false; // they are input 2, Float32 [columns], with zero points that are 0
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// Matrix products of input 0 in Float32 [batch, rows, depth] and input 1, a constant of low precision, with an
// optional bias as the input behind, 2 or 3. Input 1 is packed; before that it is Int8 if its type is, else Float32.
class LowPrecisionMatMul {
 public:
  static std::optional<std::string> packed_layout(const LowPrecisionMatMulParameters& parameters, size_t i);
  static size_t packed_bytes(const LowPrecisionMatMulParameters& parameters, size_t i);
  static Status pack(const LowPrecisionMatMulParameters& parameters, size_t i, const void* original, void* packed);
  static DType packed_from(const LowPrecisionMatMulParameters& parameters) {
    return parameters.precision.type;
  }

  StatusOr<size_t> reshape(const LowPrecisionMatMulParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  size_t batch_ = 0, matrix_bytes_ = 0;
  bool has_scale_input_ = false;
  ChannelScales scales_;
  LowPrecisionProduct product_;
};

} // namespace executorch::backends::et_xnnpack
