// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>
#include <limits>

#include <runtime/kernels/elementwise/float64.h>
#include <runtime/kernels/elementwise/unary.h>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::Clamp;
using schema::UnaryKind;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

OpCase unary(UnaryKind kind, Operand x, float alpha = 1, std::optional<Clamp> clamp = {}) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateUnary(builder, kind, alpha, clamp ? &*clamp : nullptr);
  };
  return OpCase(attributes, {std::move(x)});
}

OpCase binary(BinaryKind kind, Operand a, Operand b, std::optional<Clamp> clamp = {}) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateBinary(builder, kind, clamp ? &*clamp : nullptr);
  };
  return OpCase(attributes, {std::move(a), std::move(b)});
}

OpCase unary_with(std::vector<Operand> operands) {
  return OpCase([](Builder& builder) { return schema::CreateUnary(builder); }, std::move(operands));
}

TEST(Unary, HasTheShapeOfItsInput) {
  expect_shape(unary(UnaryKind::Exp, tensor({})), {});
  expect_shape(unary(UnaryKind::Exp, tensor({2, 0, 3})), {2, 0, 3});
  expect_shape(unary(UnaryKind::Tanh, tensor({1, 2, 3, 4, 5, 6, 7, 8})), {1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(Unary, CopiesAnyType) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Bool}) {
    StatusOr<TensorType> output = unary(UnaryKind::Copy, typed(dtype, {2, 3})).infer();
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->dtype, dtype);
    EXPECT_FALSE(unary(UnaryKind::Copy, typed(dtype, {2, 3})).in_xnnpack());
  }
}

TEST(Unary, Refuses) { // Robustness: N19 N22
  expect_refused(unary_with({}), "has 0 inputs");
  expect_refused(unary_with({tensor({1}), tensor({1})}), "has 2 inputs");
  expect_refused(unary_with({absent()}), "input 0 is absent");
  expect_refused(unary(UnaryKind::Abs, typed(DType::Int32, {1})), "must be Float32");
  expect_refused(unary(UnaryKind::Clamp, tensor({1})), "it must have limits if it clamps, and only then");
  expect_refused(unary(UnaryKind::Abs, tensor({1}), 1, Clamp(0, 1)), "it must have limits if it clamps, and only then");
  expect_refused(unary(UnaryKind::Clamp, tensor({1}), 1, Clamp(1, 0)), "clamps to [1, 0]");
  expect_refused(unary(UnaryKind::Clamp, tensor({1}), 1, Clamp(kNaN, 1)), "clamps to [nan, 1]");
  expect_refused(unary(UnaryKind::Clamp, tensor({1}), 1, Clamp(0, kNaN)), "clamps to [0, nan]");
  expect_refused(unary(UnaryKind::Elu, tensor({1}), kNaN), "alpha is not finite");
  expect_refused(unary(UnaryKind::LeakyRelu, tensor({1}), kInf), "alpha is not finite");
  expect_refused(unary(UnaryKind::Abs, tensor({size_t{1} << 39, 2})), "larger than 1 TiB");
}

TEST(Unary, OfFloat64HasNoParameters) {
  for (const UnaryKind kind : schema::EnumValuesUnaryKind()) {
    const char* name = schema::EnumNameUnaryKind(kind);
    const bool has_parameters = kind == UnaryKind::Clamp || kind == UnaryKind::Elu || kind == UnaryKind::LeakyRelu;
    const bool is_function = kind != UnaryKind::Copy && !has_parameters;
    EXPECT_EQ(float64_unary_row(name) != nullptr, is_function) << name;
    const OpCase op = unary(
        kind, typed(DType::Float64, {2, 3}), 1, kind == UnaryKind::Clamp ? std::optional(Clamp(0, 1)) : std::nullopt);
    if (has_parameters) {
      expect_refused(op, "does not take Float64");
    } else {
      EXPECT_EQ(op.infer()->dtype, DType::Float64) << name;
      EXPECT_FALSE(op.in_xnnpack()) << name;
    }
  }
}

TEST(Binary, OfFloat64) {
  for (const BinaryKind kind : schema::EnumValuesBinaryKind()) {
    const OpCase op = binary(kind, typed(DType::Float64, {2, 1}), typed(DType::Float64, {3}));
    if (kind == BinaryKind::BitAnd || kind == BinaryKind::BitOr || kind == BinaryKind::BitXor) {
      expect_refused(op, "does not take operands of type Float64 and Float64");
    } else {
      EXPECT_EQ(op.infer()->to_string(), "Float64[2, 3]");
      EXPECT_FALSE(op.in_xnnpack());
    }
  }
  expect_refused(binary(BinaryKind::Add, typed(DType::Float64, {3}), tensor({3})), "of type Float64 and Float32");
  const Operand x = typed(DType::Float64, {3});
  expect_refused(binary(BinaryKind::Add, x, x, Clamp(0, 1)), "it limits Float64, but only Float32 can be limited");
}

TEST(Unary, EveryKindButACopyHasAFunction) {
  size_t functions = 0;
  for (const UnaryKind kind : schema::EnumValuesUnaryKind()) {
    const char* name = schema::EnumNameUnaryKind(kind);
    EXPECT_EQ(unary_row({name}) == nullptr, kind == UnaryKind::Copy) << name;
    ++functions;
  }
  EXPECT_EQ(unary_functions().size(), functions - 1);
}

// Of zeros, too.
void expect_signs(const OpCase& op) {
  const std::vector<float> actual = op.run_in_xnnpack(), expected = op.run_kernel();
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isnan(expected[i])) {
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << "element " << i << ": " << expected[i];
    }
  }
}

TEST(Unary, XnnpackIsExactEverywhere) {
  std::vector<float> numbers{0.0f, -0.0f, kInf, -kInf, kNaN, 0.5f, 1.5f, 2.5f, -2.5f, 8388609.0f, 4e9f};
  for (const float denormal : {1e-45f, 3e-42f, 1e-38f}) {
    numbers.push_back(denormal);
    numbers.push_back(-denormal);
  }
  for (float x = 1e-37f; x < 3e38f; x *= 3.7f) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  const Operand x = tensor({numbers.size()}, numbers);
  for (int k = 0; k <= static_cast<int>(UnaryKind::MAX); ++k) {
    const auto kind = static_cast<UnaryKind>(k);
    SCOPED_TRACE(schema::EnumNameUnaryKind(kind));
    const bool clamps = kind == UnaryKind::Clamp;
    for (const float alpha : {1.0f, 0.01f, -2.0f}) {
      const OpCase op = unary(kind, x, alpha, clamps ? std::optional<Clamp>({-0.5f, 6}) : std::nullopt);
      if (op.in_xnnpack()) {
        expect_agreement(op, 1e-6f);
        if (!op.lacks_part() && alpha > 0) { // a negative slope gives XNNPACK's zeros no sign
          expect_signs(op);
        }
      }
    }
  }
}

TEST(Unary, XnnpackTakesAnyShape) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1, 1, 1, 1}, Shape{3, 2, 1, 5}, Shape{10000}}) {
    SCOPED_TRACE(shape.to_string());
    expect_agreement(unary(UnaryKind::Copy, tensor(shape)));
    expect_agreement(unary(UnaryKind::Square, tensor(shape)));
    expect_agreement(unary(UnaryKind::Sigmoid, tensor(shape)));
  }
  EXPECT_FALSE(unary(UnaryKind::Square, tensor({1, 1, 1, 1, 1, 1, 1})).in_xnnpack());
  EXPECT_FALSE(unary(UnaryKind::Square, tensor({2, 0})).in_xnnpack());
}

TEST(Binary, Broadcasts) {
  expect_shape(binary(BinaryKind::Add, tensor({}), tensor({})), {});
  expect_shape(binary(BinaryKind::Add, tensor({2, 3}), tensor({})), {2, 3});
  expect_shape(binary(BinaryKind::Add, tensor({3}), tensor({2, 1})), {2, 3});
  expect_shape(binary(BinaryKind::Add, tensor({4, 1, 3}), tensor({1, 5, 1})), {4, 5, 3});
  expect_shape(binary(BinaryKind::Add, tensor({1}), tensor({0})), {0});
  expect_shape(binary(BinaryKind::Add, tensor({2, 0}), tensor({1, 1})), {2, 0});
}

TEST(Binary, KeepsTheType) {
  for (const DType dtype : {DType::Int32, DType::Int64}) {
    const OpCase op = binary(BinaryKind::FloorDiv, typed(dtype, {2, 1}), typed(dtype, {3}));
    StatusOr<TensorType> output = op.infer();
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(*output, (TensorType{dtype, {2, 3}}));
    EXPECT_FALSE(op.in_xnnpack());
  }
}

TEST(Binary, Refuses) { // Robustness: N20 N21
  expect_refused(binary(BinaryKind::Add, tensor({2}), tensor({3})), "shapes [2] and [3] do not broadcast");
  expect_refused(binary(BinaryKind::Add, tensor({2}), tensor({0})), "do not broadcast");
  expect_refused(binary(BinaryKind::Add, tensor({2, 3}), tensor({2})), "do not broadcast");
  expect_refused(
      binary(BinaryKind::Add, tensor({1}), typed(DType::Int64, {1})),
      "Add does not take operands of type Float32 and Int64");
  expect_refused(
      binary(BinaryKind::BitOr, tensor({1}), tensor({1})), "BitOr does not take operands of type Float32 and Float32");
  expect_refused(
      binary(BinaryKind::Div, typed(DType::Int32, {1}), typed(DType::Int32, {1})),
      "Div does not take operands of type Int32");
  expect_refused(
      binary(BinaryKind::Add, typed(DType::Bool, {1}), typed(DType::Bool, {1})),
      "Add does not take operands of type Bool");
  for (const BinaryKind kind : {BinaryKind::Add, BinaryKind::Div, BinaryKind::BitAnd}) {
    const Operand half = typed(DType::Float16, {1});
    expect_refused(binary(kind, half, half), "does not take operands of type Float16");
  }
  const Operand integers = typed(DType::Int64, {1});
  expect_refused(binary(BinaryKind::Add, integers, integers, Clamp(0, 1)), "it limits Int64");
  expect_refused(binary(BinaryKind::Add, tensor({1}), absent()), "input 1 is absent");
  expect_refused(binary(BinaryKind::Add, tensor({1}), tensor({1}), Clamp(2, 1)), "clamps to [2, 1]");
  const size_t large = size_t{1} << 30;
  expect_refused(binary(BinaryKind::Add, tensor({large, 1}), tensor({large})), "larger than 1 TiB");
}

TEST(Binary, XnnpackIsExactEverywhere) {
  const std::vector<float> numbers{
      0.0f, -0.0f, kInf, -kInf, kNaN, 1.5f, -1.5f, 3e38f, -3e38f, 2.0f, -3.0f, 1e-45f, -3e-42f, 1e-38f};
  const size_t count = numbers.size();
  for (int k = 0; k <= static_cast<int>(BinaryKind::MAX); ++k) {
    const auto kind = static_cast<BinaryKind>(k);
    SCOPED_TRACE(schema::EnumNameBinaryKind(kind));
    const OpCase op = binary(kind, tensor({count, 1}, numbers), tensor({count}, numbers));
    if (op.infer().ok() && op.in_xnnpack() && kind != BinaryKind::Prelu) { // 0 * infinity in Prelu is 0 for XNNPACK
      expect_agreement(op);
      expect_agreement(binary(kind, tensor({count, 1}, numbers), tensor({count}, numbers), Clamp(-2, 2)));
    }
  }
  for (const BinaryKind kind : {BinaryKind::Maximum, BinaryKind::Minimum}) {
    EXPECT_FALSE(binary(kind, tensor({1}), tensor({1})).in_xnnpack());
  }
}

TEST(Binary, XnnpackBroadcasts) {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{}, {}},
      {{}, {3}},
      {{2, 3}, {}},
      {{3}, {2, 1}},
      {{4, 1, 3}, {1, 5, 1}},
      {{2, 1, 2, 1, 2, 1}, {3, 1, 3, 1, 3}},
      {{1, 1}, {1}},
      {{2, 3, 4}, {2, 3, 4}}};
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(a.to_string() + " and " + b.to_string());
    for (const BinaryKind kind : {BinaryKind::Add, BinaryKind::Sub, BinaryKind::Div, BinaryKind::Prelu}) {
      expect_agreement(binary(kind, tensor(a), tensor(b)));
      expect_agreement(binary(kind, weight(a), tensor(b), Clamp(0, kInf)));
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
