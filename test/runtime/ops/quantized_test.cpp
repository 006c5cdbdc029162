// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Which nodes of integers XNNPACK gets: it takes more than it computes rightly.

#include "ops/quantized_tensor.h"
#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;

Quantized int8(float scale, int32_t zero_point = 0) {
  return {DType::Int8, scale, zero_point};
}

// Weights or a bias with these scales on axis 0, or another.
Quantized by_channel(DType stored, const std::vector<float>& scales, int32_t zero_point = 0, uint8_t axis = 0) {
  return {stored, scales, std::vector<int32_t>(scales.size(), zero_point), axis};
}

Operand operand(const Quantized& quantized, const Shape& shape, bool is_constant = false) {
  return {quantized.type(shape), is_constant, {}};
}

OpCase linear_of(std::vector<Operand> operands, const schema::Clamp* clamp = nullptr) {
  return OpCase([=](Builder& builder) { return schema::CreateLinear(builder, clamp); }, std::move(operands));
}

OpCase binary_of(BinaryKind kind, std::vector<Operand> operands) {
  return OpCase([=](Builder& builder) { return schema::CreateBinary(builder, kind); }, std::move(operands));
}

class QuantizedLinearOfIntegers : public ::testing::Test {
 protected:
  bool takes(const Quantized& weight, const Quantized* bias = nullptr, const schema::Clamp* clamp = nullptr) const {
    std::vector<Operand> operands{operand(x_, {2, 4}), operand(weight, {3, 4}, true)};
    if (bias != nullptr) {
      operands.push_back(operand(*bias, {3}, true));
    }
    return linear_of(std::move(operands), clamp).in_xnnpack(y_.type({2, 3}));
  }
  bool takes_bias(const Quantized& bias) const {
    return takes(weight_, &bias);
  }

  const Quantized x_ = int8(0.5f, 3), y_ = int8(0.25f, -4);
  const Quantized weight_ = by_channel(DType::Int8, {0.5f, 0.25f, 1});
};

TEST_F(QuantizedLinearOfIntegers, NeedsWeightsAroundZero) {
  EXPECT_TRUE(takes(weight_));
  EXPECT_TRUE(takes(int8(0.5f)));
  EXPECT_FALSE(takes(int8(0.5f, 1)));
  EXPECT_FALSE(takes(by_channel(DType::Int8, {0.5f, 0.25f, 1}, -1)));
  EXPECT_FALSE(takes({DType::UInt8, 0.5f, 0}));
  EXPECT_FALSE(takes(by_channel(DType::Int8, {1, 1, 1, 1}, 0, /*axis=*/1)));
  const Operand runtime = operand(weight_, {3, 4});
  EXPECT_FALSE(linear_of({operand(x_, {2, 4}), runtime}).in_xnnpack(y_.type({2, 3})));
}

TEST_F(QuantizedLinearOfIntegers, IsInBlocksWhereThatIsFaster) {
  const OpCase op = linear_of({operand(x_, {2, 4}), operand(weight_, {3, 4}, true)});
  const auto reason = [&](bool has_blocks) {
    return op.choose(y_.type({2, 3}), ChoiceOptions(), cpu_with_blocks(has_blocks)).reason;
  };
  EXPECT_EQ(reason(true), kInt8Blocks);
  EXPECT_NE(reason(false), kInt8Blocks);
}

TEST_F(QuantizedLinearOfIntegers, NeedsABiasWithTheScalesOfTheProduct) {
  EXPECT_TRUE(takes_bias(by_channel(DType::Int32, {0.25f, 0.125f, 0.5f})));
  EXPECT_FALSE(takes_bias(by_channel(DType::Int32, {0.25f, 0.125f, 0.25f})));
  EXPECT_FALSE(takes_bias({DType::Int32, 0.25f, 0}));
  EXPECT_FALSE(takes_bias(by_channel(DType::Int8, {0.25f, 0.125f, 0.5f})));
  const Quantized one(DType::Int32, 0.25f, 0), three = by_channel(DType::Int32, {0.25f, 0.25f, 0.25f});
  EXPECT_TRUE(takes(int8(0.5f), &one));
  EXPECT_FALSE(takes(int8(0.5f), &three));
}

TEST_F(QuantizedLinearOfIntegers, NeedsScalesInRange) {
  EXPECT_TRUE(takes(int8(127)));
  EXPECT_FALSE(takes(int8(128))) << "128 * 0.5 / 0.25 is 256";
  EXPECT_TRUE(takes(int8(0x1p-33f)));
  EXPECT_FALSE(takes(int8(0x1p-34f)));
  EXPECT_FALSE(takes(by_channel(DType::Int8, {0.5f, 128, 1})));
  const schema::Clamp some(-1, 1), nothing(0, 0.1f);
  EXPECT_TRUE(takes(weight_, nullptr, &some));
  EXPECT_FALSE(takes(weight_, nullptr, &nothing)) << "both ends are the same integer";
}

TEST(QuantizedBinary, NeedsScalesInRange) {
  const auto takes = [](BinaryKind kind, float a, float b, float y) {
    const Quantized first = int8(a, 1), second = int8(b, 2), result = int8(y, 3);
    return binary_of(kind, {operand(first, {4}), operand(second, {4})}).in_xnnpack(result.type({4}));
  };
  for (const BinaryKind kind : {BinaryKind::Add, BinaryKind::Sub}) {
    EXPECT_TRUE(takes(kind, 255, 0x1p-10f, 1));
    EXPECT_FALSE(takes(kind, 256, 1, 1));
    EXPECT_FALSE(takes(kind, 1, 256, 1));
    EXPECT_FALSE(takes(kind, 0x1p-11f, 1, 1));
  }
  EXPECT_TRUE(takes(BinaryKind::Mul, 15.5f, 16, 1));
  EXPECT_FALSE(takes(BinaryKind::Mul, 16, 16, 1));
  EXPECT_TRUE(takes(BinaryKind::Mul, 0x1p-8f, 0x1p-8f, 1));
  EXPECT_FALSE(takes(BinaryKind::Mul, 0x1p-8f, 0x1p-9f, 1));
  EXPECT_FALSE(takes(BinaryKind::Div, 1, 1, 1));
}

TEST(QuantizedBinary, IsInRowsWhereThatIsFaster) {
  const auto kind_of = [](BinaryKind kind, bool has_blocks) {
    const Quantized first = int8(1, 1), second = int8(1, 2), result = int8(1, 3);
    const OpCase op = binary_of(kind, {operand(first, {4}), operand(second, {4})});
    return op.choose(result.type({4}), ChoiceOptions(), cpu_with_blocks(has_blocks)).kind;
  };
  for (const BinaryKind kind : {BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul}) {
    EXPECT_EQ(kind_of(kind, true), Choice::Kind::Row);
    EXPECT_EQ(kind_of(kind, false), Choice::Kind::Xnnpack);
  }
}

// On a CPU that adds up four products, of stride 1 and without padding.
Choice choose_conv2d(const Shape& image, const Shape& weight, uint32_t groups, Cpu cpu) {
  const Quantized of_image = int8(0.5f, 3), of_weight = int8(0.5f), of_result = int8(0.25f, -4);
  const auto attributes = [=](Builder& builder) {
    const schema::Size2D one(1, 1);
    const schema::Padding2D none(0, 0, 0, 0);
    return schema::CreateConv2d(builder, &one, &none, &one, groups);
  };
  const OpCase op(attributes, {operand(of_image, image), operand(of_weight, weight, true)});
  const Shape result{image[0], image[1] - weight[1] + 1, image[2] - weight[2] + 1, weight[0]};
  cpu.int8_sums = true;
  return op.choose(of_result.type(result), ChoiceOptions(), cpu);
}

TEST(QuantizedConv2d, OfSmallGroupsHasVectorsOfSeveral) {
  const auto kind = [](const Shape& image, const Shape& weight, uint32_t groups) {
    return choose_conv2d(image, weight, groups, cpu_with_blocks(true)).kind;
  };
  EXPECT_EQ(kind({1, 9, 9, 32}, {32, 3, 3, 4}, 8), Choice::Kind::Kernel);
  EXPECT_EQ(kind({1, 9, 9, 64}, {64, 3, 3, 32}, 2), Choice::Kind::Xnnpack);
  EXPECT_EQ(kind({1, 9, 9, 32}, {64, 3, 3, 4}, 8), Choice::Kind::Xnnpack);
}

TEST(QuantizedConv2d, IsInBlocksWhereThatIsFaster) {
  const auto reason = [](const Shape& image, const Shape& weight, uint32_t groups, bool has_blocks) {
    return choose_conv2d(image, weight, groups, cpu_with_blocks(has_blocks)).reason;
  };
  EXPECT_EQ(reason({1, 9, 9, 16}, {32, 3, 3, 16}, 1, true), kInt8Blocks);
  EXPECT_EQ(reason({1, 9, 9, 3}, {32, 1, 1, 3}, 1, true), kInt8Blocks);
  EXPECT_NE(reason({1, 9, 9, 16}, {32, 3, 3, 8}, 2, true), kInt8Blocks);
  EXPECT_NE(reason({1, 9, 9, 16}, {16, 3, 3, 1}, 16, true), kInt8Blocks);
  EXPECT_NE(reason({1, 9, 9, 16}, {32, 3, 3, 16}, 1, false), kInt8Blocks);

  const auto from = [&](const Shape& weight, size_t one_pixel, size_t more) {
    Cpu cpu = cpu_with_blocks(false);
    cpu.blocks.int8_linear = one_pixel;
    cpu.blocks.int8_conv = more;
    return choose_conv2d({1, 9, 9, 16}, weight, 1, cpu).reason;
  };
  const Shape one_pixel{32, 1, 1, 16}, more{32, 3, 3, 16};
  EXPECT_EQ(from(one_pixel, one_pixel.numel(), Cpu::Blocks::kNever), kInt8Blocks);
  EXPECT_NE(from(one_pixel, one_pixel.numel() + 1, 0), kInt8Blocks);
  EXPECT_EQ(from(more, Cpu::Blocks::kNever, more.numel()), kInt8Blocks);
  EXPECT_NE(from(more, 0, more.numel() + 1), kInt8Blocks);
}

TEST(QuantizedConcat, NeedsOneScaleAndZeroPoint) {
  const auto takes = [](const Quantized& a, const Quantized& b, const Quantized& y) {
    const OpCase op(
        [](Builder& builder) { return schema::CreateConcat(builder, 0); }, {operand(a, {2}), operand(b, {3})});
    return op.in_xnnpack(y.type({5}));
  };
  EXPECT_TRUE(takes(int8(0.5f, 1), int8(0.5f, 1), int8(0.5f, 1)));
  EXPECT_FALSE(takes(int8(0.5f, 1), int8(0.5f, 2), int8(0.5f, 1)));
  EXPECT_FALSE(takes(int8(0.5f, 1), int8(0.25f, 1), int8(0.5f, 1)));
  EXPECT_FALSE(takes(int8(0.5f, 1), int8(0.5f, 1), int8(0.25f, 1)));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
