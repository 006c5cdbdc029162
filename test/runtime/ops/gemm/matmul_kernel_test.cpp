// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/gemm/matmul_kernel.h>

#include <runtime/kernels/gemm/matmul.h>

#include "ops/quantized_tensor.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

NodeTensor stored_as(NodeTensor tensor, DType stored) {
  tensor.type.constant_dtype = stored;
  return tensor;
}

const schema::Clamp kClamp(-0.5f, 1);

Attributes linear(flatbuffers::FlatBufferBuilder& builder) {
  return schema::CreateLinear(builder, &kClamp).Union();
}

// A node computes what its kernel computes with the parameters that the node stands for.
TEST(LinearKernel, Parameters) {
  const Tensor x = random_floats({2, 3, 33}), w = random_floats({21, 33}), bias = random_floats({21});
  const TensorSpec y{DType::Float32, {2, 3, 21}};
  MatrixProduct product;
  product.rows = 6;
  product.depth = product.a_stride = product.b_stride = 33;
  product.columns = product.c_stride = 21;
  product.b_transposed = true;
  product.min = -0.5f;
  product.max = 1;
  const Tensor expected = run_kernel(plain_case<MatMul>(product, {x, w, bias}, {y}));
  check_kernel({make_linear, schema::Attributes::Linear, linear, {x, w, bias}, y}, expected, {1e-5f, 1e-6f});
}

TEST(LinearKernel, ParametersOfLowPrecision) {
  const Tensor x = random_floats({2, 3, 33}), w = random_floats({21, 33}), bias = random_floats({21});
  const TensorSpec y{DType::Float32, {2, 3, 21}};
  LowPrecisionMatMulParameters parameters;
  parameters.rows = 6;
  parameters.depth = 33;
  parameters.columns = 21;
  parameters.b_transposed = true;
  parameters.min = -0.5f;
  parameters.max = 1;
  for (const DType stored : {DType::Float16, DType::BFloat16}) {
    parameters.precision.type = stored;
    const Tensor expected = run_kernel(plain_case<LowPrecisionMatMul>(parameters, {x, w, bias}, {y}, {1}));
    check_kernel(
        {chosen(kLinearOp), schema::Attributes::Linear, linear, {x, stored_as(w, stored), bias}, y, {}, 0, {1}},
        expected,
        {1e-5f, 1e-6f});
  }
}

// Operands of integers or floats, a weight of integers.
TEST(LinearKernel, WeightsOfIntegers) {
  const Quantized integers(DType::Int8, {0.5f, 0.25f, 1.0f, 2.0f, 0.125f}, {0, 1, -1, -128, 127}, 0);
  const Quantized rows(DType::Int8, 0.25f, 5),
      sums(DType::Int32, {0.5f, 0.25f, 1.0f, 2.0f, 0.125f}, {0, 0, 0, 0, 0}, 0);
  for (const size_t count : {1, 6, 67}) {
    for (const size_t depth : {1, 33}) {
      const NodeTensor weight = integers.every({5, depth}), bias = sums.tensor({5}, {1, -2, 70, -6, 8});
      const NodeTensor x = rows.every({count, depth});
      const std::vector<float> w = integers.numbers(weight), a = rows.numbers(x), b = sums.numbers(bias);
      Tensor y(DType::Float32, {count, 5});
      for (size_t i = 0; i < y.numel(); ++i) {
        double sum = static_cast<double>(b[i % 5]);
        for (size_t k = 0; k < depth; ++k) {
          sum += static_cast<double>(a[i / 5 * depth + k]) * static_cast<double>(w[i % 5 * depth + k]);
        }
        y.data<float>()[i] = static_cast<float>(sum);
      }
      for (const NodeTensor& operand : {x, NodeTensor(floats(x.shape(), a))}) {
        check_kernel(
            {chosen(kLinearOp),
             schema::Attributes::Linear,
             [](auto& builder) { return schema::CreateLinear(builder).Union(); },
             {operand, weight, bias},
             y.type,
             {},
             0,
             {1, 2}},
            y,
            {1e-2f, 1e-6f});
      }
    }
  }
}

// A constant of 16 bits is packed as it is unless it is small.
TEST(BatchMatMulKernel, Parameters) {
  for (const bool transpose_b : {false, true}) {
    for (const size_t depth : {20, 130}) {
      for (const DType stored : {DType::Float32, DType::Float16, DType::BFloat16}) {
        const Tensor a = random_floats({2, 1, 7, depth});
        const Tensor b = random_floats(transpose_b ? Shape{2, 1, 131, depth} : Shape{2, 1, depth, 131});
        const TensorSpec y{DType::Float32, {2, 1, 7, 131}};
        MatrixProduct product;
        product.batch = 2;
        product.rows = 7;
        product.depth = product.a_stride = depth;
        product.columns = product.c_stride = 131;
        product.b_transposed = transpose_b;
        product.b_stride = transpose_b ? depth : 131;
        product.a_batch = 7 * depth;
        product.b_batch = depth * 131;
        product.c_batch = 7 * 131;
        LowPrecisionMatMulParameters parameters;
        parameters.batch = 2;
        parameters.rows = 7;
        parameters.depth = depth;
        parameters.columns = 131;
        parameters.b_transposed = transpose_b;
        parameters.precision.type = stored;
        const bool is_low = stored != DType::Float32 && depth > 125; // 16384 elements
        const Tensor expected = run_kernel(
            is_low ? plain_case<LowPrecisionMatMul>(parameters, {a, b}, {y}, {1})
                   : plain_case<MatMul>(product, {a, b}, {y}));
        check_kernel(
            {chosen(kBatchMatMulOp),
             schema::Attributes::BatchMatMul,
             [=](auto& builder) { return schema::CreateBatchMatMul(builder, transpose_b).Union(); },
             {a, stored_as(b, stored)},
             y,
             {},
             0,
             {1}},
            expected,
            {2e-5f, 1e-5f});
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
