// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/arg_reduce.h>

#include "reduce_values.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

template <typename T>
void check_arg_reduce(const Tensor& x, size_t axis) {
  for (const ArgReduceOp op : {ArgReduceOp::Max, ArgReduceOp::Min}) {
    SCOPED_TRACE(
        std::string(op == ArgReduceOp::Max ? "largest of " : "smallest of ") + x.type.to_string() + " along " +
        std::to_string(axis));
    Shape shape;
    for (size_t i = 0; i < x.shape().rank; ++i) {
      if (i != axis) {
        shape.append(x.shape()[i]);
      }
    }
    const size_t size = x.shape()[axis];
    const size_t inner = x.shape().numel(axis + 1, x.shape().rank);
    Tensor y(DType::Int64, shape);
    for (size_t i = 0; i < y.numel(); ++i) {
      const T* const from = x.data<T>() + i / inner * size * inner + i % inner;
      size_t best = 0;
      for (size_t k = 1; k < size; ++k) {
        const T value = from[best * inner], next = from[k * inner];
        if (value == value && (next != next || (op == ArgReduceOp::Max ? next > value : next < value))) {
          best = k;
        }
      }
      y.data<int64_t>()[i] = static_cast<int64_t>(best);
    }
    const ArgReduceParameters parameters{op, x.type.dtype, x.shape(), axis};
    check_kernel(plain_case<ArgReduce>(parameters, {x}, {y.type}), y);
  }
}

template <typename T>
void check_arg_reduces(DType dtype) {
  for (const size_t size : {1, 2, 15, 16, 17, 64, 65, 300, 2047, 2048, 2049, 5000}) {
    check_arg_reduce<T>(few<T>(dtype, {3, size}), 1);
    check_arg_reduce<T>(few<T>(dtype, {7, size}), 0);
    check_arg_reduce<T>(few<T>(dtype, {2, size, 3}), 1);
  }
  check_arg_reduce<T>(few<T>(dtype, {300, 131}), 0);
  check_arg_reduce<T>(few<T>(dtype, {0, 5}), 1);
}

TEST(ArgReduce, Floats) {
  check_arg_reduces<float>(DType::Float32);
  check_arg_reduce<float>(random_floats({5, 9000}), 1);
  check_arg_reduce<float>(random_floats({9000, 5}), 0);
}

TEST(ArgReduce, Float64) {
  check_arg_reduces<double>(DType::Float64);
  for (const size_t place : {0, 5, 99}) {
    Tensor x = few<double>(DType::Float64, {10, 10});
    x.data<double>()[place] = static_cast<double>(kNaN);
    check_arg_reduce<double>(x, 0);
    check_arg_reduce<double>(x, 1);
  }
}

TEST(ArgReduce, Integers) {
  check_arg_reduces<int32_t>(DType::Int32);
  check_arg_reduces<int64_t>(DType::Int64);
  check_arg_reduces<int8_t>(DType::Int8);
  check_arg_reduces<uint8_t>(DType::UInt8);
}

TEST(ArgReduce, SpecialValues) {
  for (const float special : {kNaN, kInfinity, -kInfinity}) {
    in_every_place(special, [](const Tensor& x) {
      check_arg_reduce<float>(x, 0);
      check_arg_reduce<float>(x, 1);
    });
  }
  Tensor x = random_floats({3, 5000});
  for (const size_t place : {2500, 4999, 5000 + 4999, 5000 + 2049, 10000}) {
    x.data<float>()[place] = kNaN;
  }
  check_arg_reduce<float>(x, 1);
  check_arg_reduce<float>(repeated({3, 100}, {-kInfinity}), 1);
  check_arg_reduce<float>(repeated({3, 100}, {kInfinity}), 0);
  check_arg_reduce<float>(repeated({3, 99}, {0.f, -0.f}), 1);
  check_arg_reduce<float>(repeated({99, 3}, {0.f, -0.f}), 0);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
