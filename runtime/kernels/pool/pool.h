// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "pool_row.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

enum class PoolOp { Average, Max };

struct PoolParameters {
  PoolOp op = PoolOp::Average;
  size_t images = 0, channels = 0;
  PoolAxis height, width; // averages have no dilation
  size_t divisor = 0; // of averages; 0: what the windows count
};

// Of Float32, NHWC. The largest is NaN if an element is.
class Pool {
 public:
  StatusOr<size_t> reshape(const PoolParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  PoolParameters parameters_;
  void (*function_)(const PoolRow& row) = nullptr;
  Array<PoolWindow> rows_, columns_;
};

} // namespace executorch::backends::et_xnnpack
