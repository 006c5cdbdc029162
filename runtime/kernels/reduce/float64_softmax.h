// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/common/axis_rows.h"
#include "softmax.h"

namespace executorch::backends::et_xnnpack {

// Softmax of Float64.
class Float64Softmax {
 public:
  size_t reshape(const SoftmaxParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  AxisRows rows_;
  bool log_ = false;
};

} // namespace executorch::backends::et_xnnpack
