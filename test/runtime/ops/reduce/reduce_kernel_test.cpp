// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/reduce/reduce_kernel.h>

#include <runtime/kernels/reduce/arg_reduce.h>
#include <runtime/kernels/reduce/reduce.h>
#include <runtime/kernels/reduce/scan.h>
#include <runtime/kernels/reduce/softmax.h>
#include <runtime/kernels/reduce/sort.h>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A node computes what its kernel computes with the parameters that the node stands for.
void check(const KernelCase& node, const PlainCase& plain) {
  check_kernel(node, run_kernel(plain), {1e-5f, 1e-5f});
}

TEST(ReduceKernel, Parameters) {
  const std::pair<schema::ReduceKind, ReduceOp> kinds[] = {
      {schema::ReduceKind::Sum, ReduceOp::Sum},
      {schema::ReduceKind::Mean, ReduceOp::Mean},
      {schema::ReduceKind::Max, ReduceOp::Max},
      {schema::ReduceKind::Min, ReduceOp::Min},
      {schema::ReduceKind::Prod, ReduceOp::Prod},
      {schema::ReduceKind::Any, ReduceOp::Any},
      {schema::ReduceKind::All, ReduceOp::All}};
  ASSERT_EQ(std::size(kinds), std::size(schema::EnumValuesReduceKind()));
  const std::vector<uint8_t> axes{0, 2};
  for (const auto& [kind, op] : kinds) {
    for (const DType dtype : {DType::Float32, DType::Int32, DType::Int64, DType::Bool}) {
      const bool is_logic = op == ReduceOp::Any || op == ReduceOp::All;
      if (is_logic != (dtype == DType::Bool) || (op == ReduceOp::Mean && dtype != DType::Float32)) {
        continue;
      }
      for (const bool keep_dims : {false, true}) {
        SCOPED_TRACE(schema::EnumNameReduceKind(kind));
        Tensor x = dtype == DType::Float32 ? random_floats({3, 4, 5}) : iota(dtype, {3, 4, 5});
        if (is_logic) {
          for (size_t i = 0; i < x.bytes.size(); ++i) {
            x.bytes[i] = i / 5 % 4 < 2 ? i % 5 == 0 : i / 5 % 4 == 2;
          }
        }
        const Shape shape = keep_dims ? Shape{1, 4, 1} : Shape{4};
        const ReduceParameters parameters{op, dtype, x.shape(), {true, false, true}};
        const bool adds_floats = dtype == DType::Float32 && (op == ReduceOp::Sum || op == ReduceOp::Mean);
        const std::vector<TensorSpec> y{{dtype, shape}};
        check(
            {adds_floats ? make_sum_floats : make_reduce,
             schema::Attributes::Reduce,
             [&, by = kind](auto& builder) {
               return schema::CreateReduceDirect(builder, by, &axes, keep_dims).Union();
             },
             {x},
             y[0]},
            adds_floats ? plain_case<SumFloats>(parameters, {x}, y) : plain_case<Reduce>(parameters, {x}, y));
      }
    }
  }
}

TEST(ArgReduceKernel, Parameters) {
  const std::pair<schema::ArgReduceKind, ArgReduceOp> kinds[] = {
      {schema::ArgReduceKind::Max, ArgReduceOp::Max}, {schema::ArgReduceKind::Min, ArgReduceOp::Min}};
  for (const auto& [kind, op] : kinds) {
    const Tensor x = random_floats({3, 4, 5});
    const TensorSpec y{DType::Int64, {3, 5}};
    check(
        {make_arg_reduce,
         schema::Attributes::ArgReduce,
         [by = kind](auto& builder) { return schema::CreateArgReduce(builder, by, 1).Union(); },
         {x},
         y},
        plain_case<ArgReduce>(ArgReduceParameters{op, DType::Float32, x.shape(), 1}, {x}, {y}));
  }
}

TEST(ScanKernel, Parameters) {
  const std::pair<schema::ScanKind, ScanOp> kinds[] = {
      {schema::ScanKind::Sum, ScanOp::Sum}, {schema::ScanKind::Prod, ScanOp::Prod}};
  for (const auto& [kind, op] : kinds) {
    const Tensor x = iota(DType::Int32, {3, 4, 5});
    check(
        {make_scan,
         schema::Attributes::Scan,
         [by = kind](auto& builder) { return schema::CreateScan(builder, by, 1).Union(); },
         {x},
         x.type},
        plain_case<Scan>(ScanParameters{op, DType::Int32, x.shape(), 1}, {x}, {x.type}));
  }
}

TEST(SortKernel, Parameters) {
  for (const bool descending : {false, true}) {
    for (const uint32_t count : {0, 3}) {
      const Tensor x = random_floats({3, 7, 5});
      const TensorSpec y{DType::Int64, {3, count == 0 ? size_t{7} : count, 5}};
      check(
          {make_sort,
           schema::Attributes::Sort,
           [=](auto& builder) { return schema::CreateSort(builder, 1, descending, count).Union(); },
           {x},
           y},
          plain_case<Sort>(SortParameters{DType::Float32, x.shape(), 1, descending, count}, {x}, {y}));
    }
  }
}

TEST(SoftmaxKernel, Parameters) {
  for (const bool log : {false, true}) {
    const Tensor x = random_floats({3, 4, 5});
    check(
        {make_softmax,
         schema::Attributes::Softmax,
         [=](auto& builder) { return schema::CreateSoftmax(builder, 1, log).Union(); },
         {x},
         x.type},
        plain_case<Softmax>(SoftmaxParameters{x.shape(), 1, log}, {x}, {x.type}));
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
