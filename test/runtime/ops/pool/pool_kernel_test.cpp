// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/pool/pool_kernel.h>

#include <runtime/kernels/pool/max_pool_indices.h>
#include <runtime/kernels/pool/pool.h>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A node computes what its kernel computes with the parameters that the node stands for.
void check(const KernelCase& node, const PlainCase& plain) {
  check_kernel(node, run_kernel(plain), {1e-6f, 1e-6f});
}

PoolParameters image(PoolOp op, const Shape& x, const Shape& y) {
  PoolParameters p;
  p.op = op;
  p.images = x[0];
  p.channels = x[3];
  p.height.input = x[1];
  p.height.output = y[1];
  p.width.input = x[2];
  p.width.output = y[2];
  return p;
}

const schema::Size2D kKernel(4, 3), kStride(2, 1), kDilation(1, 2);
const schema::Padding2D kPadding(1, 2, 3, 0), kCounted(0, 2, 1, 0); // top, right, bottom, left

TEST(AvgPool2dKernel, Parameters) {
  for (const uint32_t divisor : {0, 7}) {
    const Tensor x = random_floats({2, 7, 9, 5});
    const TensorSpec y{DType::Float32, {2, 4, 9, 5}};
    PoolParameters p = image(PoolOp::Average, x.shape(), y.shape);
    p.height.kernel = 4;
    p.height.stride = 2;
    p.height.padding = 1;
    p.height.counted_after = 1;
    p.width.kernel = 3;
    p.width.counted_after = 2;
    p.divisor = divisor;
    check(
        {make_avg_pool2d,
         schema::Attributes::AvgPool2d,
         [=](auto& builder) {
           return schema::CreateAvgPool2d(builder, &kKernel, &kStride, &kPadding, &kCounted, divisor).Union();
         },
         {x},
         y},
        plain_case<Pool>(p, {x}, {y}));
  }
}

TEST(MaxPool2dKernel, Parameters) {
  const Tensor x = random_floats({2, 7, 9, 5});
  const TensorSpec y{DType::Float32, {2, 4, 7, 5}};
  PoolParameters p = image(PoolOp::Max, x.shape(), y.shape);
  p.height.kernel = 4;
  p.height.stride = 2;
  p.height.padding = 1;
  p.width.kernel = 3;
  p.width.dilation = 2;
  check(
      {make_max_pool2d,
       schema::Attributes::MaxPool2d,
       [=](auto& builder) {
         return schema::CreateMaxPool2d(builder, &kKernel, &kStride, &kPadding, &kDilation).Union();
       },
       {x},
       y},
      plain_case<Pool>(p, {x}, {y}));
}

TEST(AdaptivePool2dKernel, Parameters) {
  const std::pair<schema::AdaptivePoolKind, PoolOp> kinds[] = {
      {schema::AdaptivePoolKind::Average, PoolOp::Average}, {schema::AdaptivePoolKind::Max, PoolOp::Max}};
  for (const auto& [kind, op] : kinds) {
    const Tensor x = random_floats({2, 7, 9, 5});
    const TensorSpec y{DType::Float32, {2, 3, 4, 5}};
    PoolParameters p = image(op, x.shape(), y.shape);
    p.height.adaptive = p.width.adaptive = true;
    check(
        {make_adaptive_pool2d,
         schema::Attributes::AdaptivePool2d,
         [of = kind](auto& builder) {
           const schema::Size2D output(3, 4);
           return schema::CreateAdaptivePool2d(builder, of, &output).Union();
         },
         {x},
         y},
        plain_case<Pool>(p, {x}, {y}));
  }
}

TEST(MaxPoolIndicesKernel, Parameters) {
  const std::vector<uint32_t> kernel{2, 3, 2}, stride{1, 2, 1}, padding{1, 0, 1}, dilation{1, 2, 3}, output{2, 3, 4};
  for (const bool adaptive : {false, true}) {
    const Tensor x = random_floats({2, 4, 9, 7, 3});
    const Shape shape = adaptive ? Shape{2, 2, 3, 4, 3} : Shape{2, 5, 3, 6, 3};
    MaxPoolIndicesParameters p;
    p.images = 2;
    p.channels = 3;
    for (size_t i = 0; i < 3; ++i) {
      p.axes[i] = {x.shape()[i + 1], shape[i + 1], adaptive, kernel[i], stride[i], padding[i], dilation[i]};
    }
    KernelCase node{
        make_max_pool_indices,
        schema::Attributes::MaxPoolIndices,
        [&](auto& builder) {
          return adaptive
              ? schema::CreateMaxPoolIndicesDirect(builder, nullptr, nullptr, nullptr, nullptr, nullptr, &output)
                    .Union()
              : schema::CreateMaxPoolIndicesDirect(builder, &kernel, &stride, &padding, &padding, &dilation).Union();
        },
        {x},
        {DType::Float32, shape},
        {{DType::Int64, shape}}};
    PlainCase plain = plain_case<MaxPoolIndices>(p, {x}, {{DType::Float32, shape}, {DType::Int64, shape}});
    for (const size_t i : {0, 1}) {
      node.checked = plain.checked = i;
      check(node, plain);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
