// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/common/dequantized.h>

#include "ops/quantized_tensor.h"

// Scales are powers of two and sizes are small, so that float32 computes exactly.

namespace executorch::backends::et_xnnpack::testing {
namespace {

KernelCase mean(const NodeTensor& x, const NodeTensorType& y) {
  return {
      [](const NodeContext& node) { return make_dequantized(chosen(kReduceOp), node); },
      schema::Attributes::Reduce,
      [](auto& builder) {
        const std::vector<uint8_t> axes{1};
        return schema::CreateReduceDirect(builder, schema::ReduceKind::Mean, &axes, false).Union();
      },
      {x},
      y};
}

void check_mean(size_t rows, const Quantized& from, const Quantized& to) {
  const Shape shape{rows, 16};
  const NodeTensor x = from.every(shape);
  const std::vector<float> numbers = from.numbers(x);
  std::vector<float> means(rows);
  for (size_t i = 0; i < numbers.size(); ++i) {
    means[i / 16] += numbers[i] / 16;
  }
  const NodeTensor expected = to.tensor({rows}, means);
  check_kernel(mean(x, expected.type), expected);
}

TEST(DequantizedKernel, IntegersOfIntegers) {
  const Quantized signed_one(DType::Int8, 0.25f, -7), signed_two(DType::Int8, 0.5f, 3);
  const Quantized unsigned_one(DType::UInt8, 0.125f, 128);
  for (const size_t rows : {1, 5, 2100}) {
    for (const Quantized* from : {&signed_one, &unsigned_one}) {
      for (const Quantized* to : {&signed_one, &signed_two, &unsigned_one}) {
        check_mean(rows, *from, *to);
      }
    }
  }
}

TEST(DequantizedKernel, IntegersOfFloatsAndTheReverse) {
  const Quantized quantized(DType::Int8, 0.25f, 5);
  const NodeTensor x = quantized.every({40, 16});
  const Tensor numbers = floats({40, 16}, quantized.numbers(x));
  const Tensor means = run_kernel(mean(numbers, TensorSpec{DType::Float32, {40}}));
  check_kernel(mean(x, means.type), means);
  const std::vector<float> all(means.data<float>(), means.data<float>() + means.numel());
  const NodeTensor rounded = quantized.tensor({40}, all);
  check_kernel(mean(numbers, rounded.type), rounded);
}

// Operands with scales of their own for each row of the weight and number of the bias.
TEST(DequantizedKernel, ScalesByChannel) {
  constexpr size_t kDepth = 9, kColumns = 6;
  const std::vector<float> scales{0.5f, 0.25f, 1.0f, 2.0f, 0.125f, 0.5f};
  const Quantized rows(DType::Int8, scales, {0, 1, -1, 5, -128, 127}, 0);
  const Quantized sums(DType::Int32, scales, {0, 0, 0, 0, 0, 0}, 0);
  const NodeTensor weight = rows.every({kColumns, kDepth});
  const std::vector<float> w = rows.numbers(weight);
  const NodeTensor bias = sums.tensor({kColumns}, {1, -2, 70000, -6, 0.5f, 8});
  const std::vector<float> b = sums.numbers(bias);
  for (const size_t count : {1, 4, 33}) {
    Tensor x = iota(DType::Float32, {count, kDepth});
    Tensor expected(DType::Float32, {count, kColumns});
    for (size_t m = 0; m < count; ++m) {
      for (size_t n = 0; n < kColumns; ++n) {
        float sum = b[n];
        for (size_t k = 0; k < kDepth; ++k) {
          sum += x.data<float>()[m * kDepth + k] * w[n * kDepth + k];
        }
        expected.data<float>()[m * kColumns + n] = sum;
      }
    }
    check_kernel(
        {[](const NodeContext& node) { return make_dequantized(chosen(kLinearOp), node); },
         schema::Attributes::Linear,
         [](auto& builder) { return schema::CreateLinear(builder).Union(); },
         {x, weight, bias},
         expected.type},
        expected,
        {1e-3f, 1e-6f});
  }
}

// As the weight of a convolution over a middle axis has it.
TEST(DequantizedKernel, ScalesOfAMiddleAxis) {
  const Quantized middle(DType::Int8, {0.5f, 0.25f, 2.0f}, {1, 0, -3}, 1);
  const NodeTensor x = middle.every({4, 3, 50});
  const std::vector<float> numbers = middle.numbers(x);
  Tensor expected(DType::Float32, {4, 50});
  for (size_t i = 0; i < numbers.size(); ++i) {
    expected.data<float>()[i / 150 * 50 + i % 50] += numbers[i];
  }
  check_kernel(
      {[](const NodeContext& node) { return make_dequantized(chosen(kReduceOp), node); },
       schema::Attributes::Reduce,
       [](auto& builder) {
         const std::vector<uint8_t> axes{1};
         return schema::CreateReduceDirect(builder, schema::ReduceKind::Sum, &axes, false).Union();
       },
       {x},
       expected.type},
      expected);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
