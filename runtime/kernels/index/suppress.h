// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/base/dtype.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct NonMaxSuppressionParameters {
  size_t count = 0; // boxes
  double threshold = 0;
  DType dtype = DType::Float32; // or Float64
};

// Inputs: boxes [count, 4] of corners, scores [count]. Output: the indices of the boxes that stay, Int64, the highest
// score first. In two parts as in find.h.
class NonMaxSuppression {
 public:
  size_t reshape(const NonMaxSuppressionParameters& parameters, size_t num_threads);
  size_t find_size(const KernelArguments& arguments);
  void run(const KernelArguments& arguments) const;

 private:
  template <typename T>
  size_t find(const KernelArguments& arguments) const;

  NonMaxSuppressionParameters parameters_;
  size_t kept_ = 0;
};

} // namespace executorch::backends::et_xnnpack
