// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct SoftmaxParameters {
  Shape shape;
  size_t axis = 0;
  bool log = false; // the logarithm of it
};

// Of Float32, along one axis.
class Softmax {
 public:
  // Up to this size several rows are computed at once.
  static size_t longest_short_row();

  size_t reshape(const SoftmaxParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  void (*rows_)(const float* x, size_t rows, size_t size, float* y) = nullptr;
  void (*columns_)(const float* x, size_t size, size_t stride, size_t columns, float* y) = nullptr;
  size_t outer_ = 0, size_ = 0, inner_ = 0;
};

} // namespace executorch::backends::et_xnnpack
