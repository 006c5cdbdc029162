// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>

#include "axes.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

enum class ReduceOp { Sum, Mean, Max, Min, Prod, Any, All };

struct ReduceParameters {
  ReduceOp op = ReduceOp::Sum;
  DType dtype = DType::Float32; // of input and output
  Shape input;
  std::array<bool, kMaxRank> is_reduced{}; // for each axis of the input
};

// Sum and Mean of Float32, summed up in double precision.
class SumFloats {
 public:
  size_t reshape(const ReduceParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  // Kept and reduced axes take turns once neighbours of one kind are merged. Apart from them: the last reduced one,
  // `run_size_` elements `run_stride_` apart, and behind it, if any, the last kept one, `columns_` neighbours.
  Axes kept_, reduced_;
  size_t run_size_ = 1, run_stride_ = 1, columns_ = 1;
  double factor_ = 1;
};

// How to reduce elements of one type, further from the totals that are there.
struct Reducer {
  // The totals of nothing.
  void (*start)(void* totals, size_t count);
  // Of `count` neighbours.
  void (*row)(const void* x, size_t count, void* total);
  // Of rows that lie `stride` elements apart, for each of the columns.
  void (*columns)(const void* x, size_t rows, size_t stride, size_t columns, void* totals);
};

// Sum, Max, Min and Prod of numbers, Mean of Float64, Any and All of Bool. Integers wrap instead of overflowing; Max
// and Min are NaN if an element is.
class Reduce {
 public:
  size_t reshape(const ReduceParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  Reducer reducer_{};
  DType dtype_ = DType::Float32;
  bool is_mean_ = false;
  Axes kept_, reduced_;
};

} // namespace executorch::backends::et_xnnpack
