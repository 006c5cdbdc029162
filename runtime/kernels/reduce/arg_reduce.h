// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/axis_rows.h"

namespace executorch::backends::et_xnnpack {

enum class ArgReduceOp { Max, Min };

struct ArgReduceParameters {
  ArgReduceOp op = ArgReduceOp::Max;
  DType dtype = DType::Float32; // of the input, any number
  Shape input;
  size_t axis = 0; // not empty unless the output is
};

// How to find extrema among elements of one type; `count` and `rows` are positive.
struct Finder {
  void (*row)(const void* x, size_t count, int64_t* index);
  void (*columns)(const void* x, size_t rows, size_t stride, size_t columns, int64_t* indices);
};

// The index of the first largest or smallest element along one axis as Int64. NaN is larger and smaller than all.
class ArgReduce {
 public:
  size_t reshape(const ArgReduceParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  Finder finder_{};
  DType dtype_ = DType::Float32;
  AxisRows rows_;
};

} // namespace executorch::backends::et_xnnpack
