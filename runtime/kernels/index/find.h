// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// Kernels here run in two parts: find_size() says how many rows the output has, so that there can be memory for it;
// run(), with the same inputs and scratch memory, writes them. find_size() gets no output.

// Input: elements of Bool, dense. Output: for each that is true its index, a row of Int64.
class Nonzero {
 public:
  size_t reshape(const Shape& x, size_t num_threads);
  size_t find_size(const KernelArguments& arguments) const;
  void run(const KernelArguments& arguments) const;

 private:
  void write(const unsigned char* x, size_t begin, size_t end, int64_t* y) const;

  Shape x_;
};

struct RepeatIndicesParameters {
  size_t count = 0;
  DType dtype = DType::Int64; // or Int32
};

// Input: how often each index is in the output, which is of Int64. Fails if one is negative.
class RepeatIndices {
 public:
  size_t reshape(const RepeatIndicesParameters& parameters, size_t num_threads);
  size_t find_size(const KernelArguments& arguments) const;
  void run(const KernelArguments& arguments) const;

 private:
  int64_t repeats(const KernelArguments& arguments, size_t i) const;

  RepeatIndicesParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
