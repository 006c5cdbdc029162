// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/axis_rows.h"

namespace executorch::backends::et_xnnpack {

struct SortParameters {
  DType dtype = DType::Float32; // of the input, any number or Bool
  Shape shape; // of the input
  size_t axis = 0; // of UINT32_MAX elements at most
  bool descending = false;
  size_t count = 0; // only the first so many; 0: all
};

// Along one axis the indices of the elements in their order as Int64; equal ones stay in theirs. NaN is larger than
// all.
class Sort {
 public:
  size_t reshape(const SortParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  template <typename Entry, typename T>
  Entry entry(const T* x, size_t index) const;
  template <typename T, typename Entry>
  const Entry* sort(const T* x, Entry* from) const;
  template <typename T, typename Entry>
  const Entry* select(const T* x, Entry* entries) const;

  size_t (*skip_)(const float* x, size_t count, float last, bool descending) = nullptr;
  bool descending_ = false, selects_ = false;
  DType dtype_ = DType::Float32;
  AxisRows rows_;
  size_t count_ = 0, entries_ = 0;
};

} // namespace executorch::backends::et_xnnpack
