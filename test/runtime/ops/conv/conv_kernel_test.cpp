// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/conv/conv_kernel.h>

#include <runtime/kernels/conv/conv.h>
#include <runtime/kernels/conv/packed_conv.h>

#include "ops/quantized_tensor.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

const schema::Size2D kStride(2, 1), kDilation(1, 2), kOutputPadding(1, 0);
const schema::Padding2D kPadding(1, 2, 0, 3); // top, right, bottom, left
const schema::Clamp kClamp(-0.5f, 2);

ConvParameters parameters_of(const Tensor& x, const Tensor& w, const Shape& y, size_t groups, bool transposed) {
  ConvParameters p;
  p.input = x.shape();
  p.weight = w.shape();
  p.output = y;
  p.height = {2, 1, 1};
  p.width = {1, 3, 2};
  p.groups = groups;
  p.transposed = transposed;
  p.min = -0.5f;
  p.max = 2;
  return p;
}

KernelCase node_of(
    bool transposed,
    bool low_precision,
    uint32_t groups,
    const std::vector<std::optional<NodeTensor>>& inputs,
    TensorSpec y) {
  const bool depthwise = inputs[1]->type.shape[3] == 1 && inputs[1]->type.shape[0] == inputs[0]->type.shape[3];
  const auto conv2d = depthwise ? make_depthwise_conv2d : make_conv2d;
  const auto low_precision_conv2d = depthwise ? make_low_precision_depthwise_conv2d : make_low_precision_conv2d;
  const auto make = low_precision ? (transposed ? make_low_precision_conv_transpose2d : low_precision_conv2d)
                                  : (transposed ? make_conv_transpose2d : conv2d);
  return {
      make,
      transposed ? schema::Attributes::ConvTranspose2d : schema::Attributes::Conv2d,
      [=](auto& builder) {
        return transposed
            ? schema::CreateConvTranspose2d(builder, &kStride, &kPadding, &kOutputPadding, &kDilation, groups, &kClamp)
                  .Union()
            : schema::CreateConv2d(builder, &kStride, &kPadding, &kDilation, groups, &kClamp).Union();
      },
      inputs,
      y,
      {},
      0,
      {1}};
}

// A node computes what its kernel computes with the parameters that the node stands for.
template <typename Float, typename LowPrecision>
void check(const Tensor& x, const Tensor& w, const Shape& shape, uint32_t groups, bool transposed) {
  const Tensor bias = random_floats({w.shape()[0]});
  const TensorSpec y{DType::Float32, shape};
  ConvParameters p = parameters_of(x, w, shape, groups, transposed);
  const Tolerance tolerance{1e-4f, 1e-5f};
  {
    const Tensor expected = run_kernel(plain_case<Float>(p, {x, w, bias}, {y}, {1}));
    KernelCase node = node_of(transposed, false, groups, {x, w, bias}, y);
    check_kernel(node, expected, tolerance);
    node.constants = {};
    check_kernel(node, expected, tolerance);
  }
  for (const DType stored : {DType::Float16, DType::BFloat16}) {
    p.precision.type = stored;
    const Tensor expected = run_kernel(plain_case<LowPrecision>(p, {x, w, bias}, {y}, {1}));
    NodeTensor weight = w;
    weight.type.constant_dtype = stored;
    check_kernel(node_of(transposed, true, groups, {x, weight, bias}, y), expected, tolerance);
  }
  std::vector<float> scales(w.shape()[0]);
  std::vector<int32_t> zero_points(w.shape()[0]);
  for (size_t i = 0; i < scales.size(); ++i) {
    scales[i] = 0.01f + 0.001f * static_cast<float>(i % 11);
    zero_points[i] = static_cast<int32_t>(i * 7 % 200) - 100;
  }
  const Quantized by_tensor(DType::Int8, 0.01f, -100), by_channel(DType::Int8, scales, zero_points, 0);
  p.precision.type = DType::Int8;
  for (const Quantized* quantized : {&by_tensor, &by_channel}) {
    const size_t count = quantized == &by_tensor ? 1 : scales.size();
    p.weight_scales = {{scales.data(), count}, {zero_points.data(), count}};
    const NodeTensor weight = quantized->every(w.shape());
    const Tensor expected = run_kernel(plain_case<LowPrecision>(p, {x, weight.stored(), bias}, {y}, {1}));
    check_kernel(node_of(transposed, true, groups, {x, weight, bias}, y), expected, tolerance);
  }
}

TEST(Conv2dKernel, Parameters) {
  check<Conv, PackedConv>(random_floats({2, 7, 9, 6}), random_floats({8, 3, 2, 3}), {2, 3, 12, 8}, 2, false);
}

TEST(Conv2dKernel, ParametersOfDepthwise) {
  check<DepthwiseConv, DepthwiseConv>(
      random_floats({2, 7, 9, 17}), random_floats({17, 3, 2, 1}), {2, 3, 12, 17}, 17, false);
}

TEST(ConvTranspose2dKernel, Parameters) {
  check<Conv, PackedConv>(random_floats({2, 4, 5, 6}), random_floats({8, 3, 4, 3}), {2, 9, 6, 8}, 2, true);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
