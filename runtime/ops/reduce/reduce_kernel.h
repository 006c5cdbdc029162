// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/reduce/arg_reduce.h"
#include "runtime/kernels/reduce/float64_softmax.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reduce/scan.h"
#include "runtime/kernels/reduce/softmax.h"
#include "runtime/kernels/reduce/sort.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
ArgReduceParameters arg_reduce_parameters(const NodeContext& node);
ScanParameters scan_parameters(const NodeContext& node);
SortParameters sort_parameters(const NodeContext& node);
SoftmaxParameters softmax_parameters(const NodeContext& node);
ReduceParameters reduce_parameters(const NodeContext& node);

inline constexpr auto make_reduce = make_kernel_of<Reduce, reduce_parameters>;
// REQUIRES: a sum or mean of Float32
inline constexpr auto make_sum_floats = make_kernel_of<SumFloats, reduce_parameters>;
inline constexpr auto make_arg_reduce = make_kernel_of<ArgReduce, arg_reduce_parameters>;
inline constexpr auto make_scan = make_kernel_of<Scan, scan_parameters>;
inline constexpr auto make_sort = make_kernel_of<Sort, sort_parameters>;
inline constexpr auto make_softmax = make_kernel_of<Softmax, softmax_parameters>;
inline constexpr auto make_float64_softmax = make_kernel_of<Float64Softmax, softmax_parameters>;

} // namespace executorch::backends::et_xnnpack
