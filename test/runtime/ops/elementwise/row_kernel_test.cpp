// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/elementwise/row_kernel.h>

#include <cmath>

#include "ops/quantized_tensor.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr float kSlope = 0.125f;

using Function = float (*)(float);

float itself(float x) {
  return x;
}
float leaky(float x) {
  return x < 0 ? x * kSlope : x;
}
float limited(float x) {
  return std::min(std::max(x, -3.0f), 6.0f);
}

struct Of {
  schema::UnaryKind kind;
  Function function;
};
const Of kFunctions[] = {
    {schema::UnaryKind::Copy, itself},
    {schema::UnaryKind::LeakyRelu, leaky},
    {schema::UnaryKind::Clamp, limited},
    {schema::UnaryKind::Abs, std::fabs},
};

KernelCase unary(schema::UnaryKind kind, const NodeTensor& x, const NodeTensorType& y) {
  return {
      make_quantized_unary,
      schema::Attributes::Unary,
      [=](auto& builder) {
        const schema::Clamp clamp(-3.0f, 6.0f);
        return schema::CreateUnary(builder, kind, kSlope, &clamp).Union();
      },
      {x},
      y};
}

void check(const Of& of, const NodeTensor& x, const Quantized& from, const TensorType& type, const Quantized* to) {
  SCOPED_TRACE(std::string(schema::EnumNameUnaryKind(of.kind)) + " of " + type.to_string());
  std::vector<float> results = from.numbers(x);
  for (float& result : results) {
    result = of.function(result);
  }
  if (to == nullptr) {
    Tensor expected = floats(type.shape, results);
    check_kernel(unary(of.kind, x, expected.type), expected);
  } else {
    const NodeTensor expected = to->tensor(type.shape, results);
    check_kernel(unary(of.kind, x, expected.type), expected);
  }
}

const Shape kShapes[] = {{}, {1}, {7}, {3, 37}, {0, 4}, {300, 259}};

TEST(QuantizedUnary, IntegersOfIntegers) {
  const Quantized signed_one(DType::Int8, 0.1f, -7), signed_two(DType::Int8, 0.25f, 3);
  const Quantized unsigned_one(DType::UInt8, 0.125f, 128), unsigned_two(DType::UInt8, 0.5f, 0);
  for (const Shape& shape : kShapes) {
    for (const Of& of : kFunctions) {
      for (const Quantized* from : {&signed_one, &unsigned_one}) {
        for (const Quantized* to : {&signed_one, &signed_two, &unsigned_two}) {
          const NodeTensor x = from->every(shape);
          check(of, x, *from, x.type, to);
        }
      }
    }
  }
}

TEST(QuantizedUnary, FloatsOfIntegers) {
  const Quantized from(DType::Int8, 0.1f, 127), unsigned_from(DType::UInt8, 0.3f, 0);
  for (const Shape& shape : kShapes) {
    for (const Of& of : kFunctions) {
      check(of, from.every(shape), from, from.every(shape).type, nullptr);
      check(of, unsigned_from.every(shape), unsigned_from, unsigned_from.every(shape).type, nullptr);
    }
  }
}

TEST(QuantizedUnary, IntegersOfFloats) {
  const Quantized to(DType::Int8, 0.25f, -128), unsigned_to(DType::UInt8, 0.1f, 255);
  for (const Shape& shape : kShapes) {
    const Tensor x = random_floats(shape, -50, 50);
    const std::vector<float> numbers(x.data<float>(), x.data<float>() + x.numel());
    for (const Quantized* type : {&to, &unsigned_to}) {
      const NodeTensor expected = type->tensor(shape, numbers);
      check_kernel(unary(schema::UnaryKind::Copy, x, expected.type), expected);
    }
  }
}

// A table has a result for each of 256 integers, all of which appear.
TEST(QuantizedUnary, ResultsOutOfRange) {
  const Quantized from(DType::Int8, 1.0f, 0), to(DType::Int8, 0.01f, 100);
  const NodeTensor x = from.every({256});
  check({schema::UnaryKind::Copy, itself}, x, from, x.type, &to);
}

// The node's attributes reach the row.
TEST(UnaryKernel, TakesItsParameters) {
  const Tensor x = floats({5}, {-8, -1, 0.25f, 1, 8});
  const auto run = [&](schema::UnaryKind kind) {
    return run_kernel(
        {make_unary,
         schema::Attributes::Unary,
         [=](auto& builder) {
           const schema::Clamp clamp(-3, 6);
           return schema::CreateUnary(builder, kind, kSlope, kind == schema::UnaryKind::Clamp ? &clamp : nullptr)
               .Union();
         },
         {x},
         x.type});
  };
  EXPECT_EQ(run(schema::UnaryKind::Clamp).bytes, floats({5}, {-3, -1, 0.25f, 1, 6}).bytes);
  EXPECT_EQ(run(schema::UnaryKind::LeakyRelu).bytes, floats({5}, {-1, -0.125f, 0.25f, 1, 8}).bytes);
  EXPECT_EQ(run(schema::UnaryKind::Copy).bytes, x.bytes);
  EXPECT_EQ(run(schema::UnaryKind::Neg).bytes, floats({5}, {8, 1, -0.25f, -1, -8}).bytes);
}

KernelCase binary(schema::BinaryKind kind, const Tensor& a, const Tensor& b, std::optional<schema::Clamp> clamp) {
  return {
      make_binary,
      schema::Attributes::Binary,
      [=](auto& builder) { return schema::CreateBinary(builder, kind, clamp ? &*clamp : nullptr).Union(); },
      {a, b},
      a.type};
}

TEST(BinaryKernel, TakesItsParameters) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({2, 1}, {10, -10});
  const Tensor sums = floats({2, 3}, {11, 12, 13, -6, -5, -4});
  EXPECT_EQ(run_kernel(binary(schema::BinaryKind::Add, a, b, std::nullopt)).bytes, sums.bytes);
  const Tensor limited_sums = floats({2, 3}, {11, 12, 12, -5, -5, -4});
  EXPECT_EQ(run_kernel(binary(schema::BinaryKind::Add, a, b, schema::Clamp(-5, 12))).bytes, limited_sums.bytes);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
