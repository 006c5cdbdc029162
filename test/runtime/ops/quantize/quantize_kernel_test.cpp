// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/quantize/quantize_kernel.h>

#include <runtime/kernels/quantize/quantize.h>

#include "graph_def.h"
#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A node computes what its kernel computes with the parameters that the node stands for.
TEST(QuantizeKernel, Parameters) {
  for (const DType dtype : {DType::Int8, DType::UInt8}) {
    const Tensor x = random_floats({3, 8, 5}), scale = random_floats({3, 2, 1}, 0.01f, 0.05f);
    const Tensor zero_point = iota(DType::Int32, {3, 2, 1});
    const TensorSpec y{dtype, {3, 8, 5}};
    const std::vector<std::optional<Tensor>> inputs{x, scale, zero_point};
    const QuantizeTensorParameters parameters{dtype, 3, 90, x.shape(), scale.shape()};
    check_kernel(
        {make_quantize,
         schema::Attributes::Quantize,
         [=](auto& builder) { return schema::CreateQuantize(builder, to_schema(dtype), 3, 90).Union(); },
         {inputs.begin(), inputs.end()},
         y},
        run_kernel(plain_case<QuantizeTensor>(parameters, inputs, {y})));
  }
}

TEST(DequantizeKernel, Parameters) {
  for (const DType dtype : {DType::Int8, DType::UInt8, DType::Int32}) {
    const Tensor x = iota(dtype, {3, 8, 5}), scale = random_floats({3, 2, 1}, 0.01f, 0.05f);
    const Tensor zero_point = iota(DType::Int32, {3, 2, 1});
    const TensorSpec y{DType::Float32, {3, 8, 5}};
    const std::vector<std::optional<Tensor>> inputs{x, scale, zero_point};
    const DequantizeTensorParameters parameters{dtype, x.shape(), scale.shape()};
    check_kernel(
        {make_dequantize,
         schema::Attributes::Dequantize,
         [](auto& builder) { return schema::CreateDequantize(builder).Union(); },
         {inputs.begin(), inputs.end()},
         y},
        run_kernel(plain_case<DequantizeTensor>(parameters, inputs, {y})));
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
