// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/axis_rows.h"

namespace executorch::backends::et_xnnpack {

enum class ScanOp { Sum, Prod };

struct ScanParameters {
  ScanOp op = ScanOp::Sum;
  DType dtype = DType::Float32; // of input and output, any number
  Shape shape;
  size_t axis = 0;
};

// Along one axis each element and all before it together: floats in double precision, integers wrap.
class Scan {
 public:
  size_t reshape(const ScanParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  template <typename T, typename Function>
  void scan(const KernelArguments& arguments) const;

  ScanOp op_ = ScanOp::Sum;
  DType dtype_ = DType::Float32;
  AxisRows rows_;
};

} // namespace executorch::backends::et_xnnpack
