// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/elementwise/row_kernel.h>

#include "ops/quantized_tensor.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;

KernelCase binary(BinaryKind kind, const NodeTensor& a, const NodeTensor& b, const NodeTensorType& y, bool clamps) {
  return {
      make_kernel_of_row<make_quantized_binary_row>,
      schema::Attributes::Binary,
      [=](auto& builder) {
        const schema::Clamp clamp(-3.0f, 6.0f);
        return schema::CreateBinary(builder, kind, clamps ? &clamp : nullptr).Union();
      },
      {a, b},
      y};
}

float apply(BinaryKind kind, float a, float b) {
  return kind == BinaryKind::Sub ? a - b : kind == BinaryKind::Mul ? a * b : std::max(a, b);
}

// The results for operands of the same shape, or b repeated.
std::vector<float> results(BinaryKind kind, const std::vector<float>& a, const std::vector<float>& b, bool clamps) {
  std::vector<float> y(a.size());
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = apply(kind, a[i], b[i % b.size()]);
    y[i] = clamps ? std::min(std::max(y[i], -3.0f), 6.0f) : y[i];
  }
  return y;
}

const std::pair<Shape, Shape> kShapes[] = {
    {{}, {}}, {{7}, {7}}, {{3, 37}, {37}}, {{0, 4}, {4}}, {{5, 700}, {}}, {{300, 259}, {300, 259}}};

TEST(QuantizedBinaryKernel, AnyScales) {
  const Quantized small(DType::Int8, 1e-5f, -7), one(DType::Int8, 0.25f, 3), bytes(DType::UInt8, 100.0f, 128);
  for (const auto& [shape, other] : kShapes) {
    for (const BinaryKind kind : {BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Maximum}) {
      for (const Quantized* from : {&small, &one, &bytes}) {
        for (const Quantized* to : {&small, &one, &bytes}) {
          const NodeTensor a = from->every(shape), b = one.every(other);
          const NodeTensor y =
              to->tensor(shape, results(kind, from->numbers(a), one.numbers(b), kind == BinaryKind::Sub));
          check_kernel(binary(kind, a, b, y.type, kind == BinaryKind::Sub), y);
        }
      }
    }
  }
}

TEST(QuantizedBinaryKernel, FloatsAmongIntegers) {
  const Quantized one(DType::Int8, 0.25f, 3);
  for (const auto& [shape, other] : kShapes) {
    const NodeTensor a = one.every(shape), b = one.every(other);
    const Tensor numbers = floats(other, one.numbers(b));
    const std::vector<float> expected = results(BinaryKind::Sub, one.numbers(a), one.numbers(b), false);
    const Tensor y = floats(shape, expected);
    const NodeTensor q = one.tensor(shape, expected);
    check_kernel(binary(BinaryKind::Sub, a, b, y.type, false), y);
    check_kernel(binary(BinaryKind::Sub, a, numbers, q.type, false), q);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
