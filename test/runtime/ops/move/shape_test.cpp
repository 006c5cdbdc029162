// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::PadMode;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

OpCase reshape(Operand x, std::vector<int64_t> shape, std::vector<int64_t> sizes = {}) {
  const std::vector<schema::Size> entries = sizes_of(shape);
  const auto attributes = [&](Builder& builder) { return schema::CreateReshapeDirect(builder, &entries); };
  return OpCase(attributes, {std::move(x)}, std::move(sizes));
}

OpCase expand(Operand x, std::vector<int64_t> shape, std::vector<int64_t> sizes = {}) {
  const std::vector<schema::Size> entries = sizes_of(shape);
  const auto attributes = [&](Builder& builder) { return schema::CreateExpandDirect(builder, &entries); };
  return OpCase(attributes, {std::move(x)}, std::move(sizes));
}

OpCase transpose(Operand x, std::vector<uint8_t> perm) {
  const auto attributes = [&](Builder& builder) { return schema::CreateTransposeDirect(builder, &perm); };
  return OpCase(attributes, {std::move(x)});
}

OpCase concat(uint8_t axis, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) { return schema::CreateConcat(builder, axis); };
  return OpCase(attributes, std::move(operands));
}

OpCase slice(Operand x, uint8_t axis, int64_t start, int64_t size, uint32_t step = 1, std::vector<int64_t> sizes = {}) {
  const schema::Size from(start), count(size);
  const auto attributes = [&](Builder& builder) { return schema::CreateSlice(builder, axis, &from, &count, step); };
  return OpCase(attributes, {std::move(x)}, std::move(sizes));
}

OpCase pad(
    Operand x,
    std::vector<uint32_t> before,
    std::vector<uint32_t> after,
    float value = 0,
    PadMode mode = PadMode::Constant) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreatePadDirect(builder, &before, &after, value, mode);
  };
  return OpCase(attributes, {std::move(x)});
}

OpCase pad_border(PadMode mode, Operand x, std::vector<uint32_t> before, std::vector<uint32_t> after) {
  return pad(std::move(x), std::move(before), std::move(after), 0, mode);
}

void expect_type(const OpCase& op, DType dtype) {
  StatusOr<TensorType> output = op.infer();
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->dtype, dtype);
}

TEST(Reshape, KeepsTheElements) {
  expect_shape(reshape(tensor({2, 3, 4}), {6, 4}), {6, 4});
  expect_shape(reshape(tensor({1, 1}), {}), {});
  expect_shape(reshape(tensor({}), {1, 1, 1, 1, 1, 1, 1, 1}), {1, 1, 1, 1, 1, 1, 1, 1});
  expect_shape(reshape(tensor({2, 0}), {0, 5}), {0, 5});
  expect_shape(reshape(tensor({2, 3, 4}), {-1, 4}, {6}), {6, 4});
  expect_shape(reshape(tensor({2, 0}), {0, kMax, kMax}), {0, size_t{kMax}, size_t{kMax}});
  expect_type(reshape(typed(DType::Bool, {4}), {2, 2}), DType::Bool);
  EXPECT_EQ(reshape(tensor({2, 3}), {6}).choose({DType::Float32, {6}}).kind, Choice::Kind::View);
}

TEST(Reshape, Refuses) { // Robustness: N9
  expect_refused(reshape(tensor({2, 3}), {5}), "Float32[2, 3] cannot be reshaped to [5]");
  expect_refused(reshape(tensor({2, 3}), {}), "cannot be reshaped to []");
  expect_refused(reshape(tensor({2, 3}), {0, 6}), "cannot be reshaped to [0, 6]");
  expect_refused(reshape(tensor({1}), {1, 1, 1, 1, 1, 1, 1, 1, 1}), "a shape has rank 9, but at most 8 is possible");
  expect_refused(reshape(tensor({1}), {kMax, kMax}), "larger than 1 TiB");
  expect_refused(reshape(tensor({4}), {int64_t{1} << 62, 4}), "larger than 1 TiB");
}

TEST(Transpose, PermutesAxes) {
  expect_shape(transpose(tensor({2, 3, 4}), {2, 0, 1}), {4, 2, 3});
  expect_shape(transpose(tensor({}), {}), {});
  expect_shape(transpose(tensor({2, 0}), {1, 0}), {0, 2});
  expect_type(transpose(typed(DType::Int32, {2, 3}), {1, 0}), DType::Int32);
}

TEST(Transpose, Refuses) { // Robustness: N10
  expect_refused(transpose(tensor({2, 3}), {0}), "permutes 1 axes of Float32[2, 3]");
  expect_refused(transpose(tensor({2}), {0, 1}), "permutes 2 axes");
  expect_refused(transpose(tensor({2, 3}), {0, 0}), "axis 0 is out of range or taken twice");
  expect_refused(transpose(tensor({2, 3}), {0, 2}), "axis 2 is out of range");
  expect_refused(transpose(tensor({2, 3}), {255, 0}), "axis 255 is out of range");
  const OpCase none([](Builder& builder) { return schema::CreateTranspose(builder); }, {tensor({2})});
  expect_refused(none, "permutes 0 axes");
}

TEST(Expand, Broadcasts) {
  expect_shape(expand(tensor({3, 1}), {2, 3, 4}), {2, 3, 4});
  expect_shape(expand(tensor({}), {}), {});
  expect_shape(expand(tensor({1}), {0}), {0});
  expect_shape(expand(tensor({1, 4}), {-1, 4}, {7}), {7, 4});
  expect_type(expand(typed(DType::Int64, {1}), {3}), DType::Int64);
}

TEST(Expand, Refuses) { // Robustness: N9
  expect_refused(expand(tensor({3}), {4}), "Float32[3] does not expand to [4]");
  expect_refused(expand(tensor({3}), {1}), "does not expand");
  expect_refused(expand(tensor({2, 3}), {3}), "does not expand");
  expect_refused(expand(tensor({0}), {1}), "does not expand");
  expect_refused(expand(tensor({1}), {kMax, 1}), "larger than 1 TiB");
}

TEST(Concat, JoinsOneAxis) {
  expect_shape(concat(0, {tensor({2})}), {2});
  expect_shape(concat(1, {tensor({2, 3}), tensor({2, 0}), tensor({2, 4})}), {2, 7});
  expect_type(concat(0, {typed(DType::Bool, {1}), typed(DType::Bool, {2})}), DType::Bool);
}

TEST(Concat, Refuses) { // Robustness: N6
  expect_refused(concat(0, {}), "has no inputs");
  expect_refused(concat(0, {tensor({2}), absent()}), "input 1 is absent");
  expect_refused(concat(1, {tensor({2}), tensor({2})}), "axis 1 is not below rank 1");
  expect_refused(concat(0, {tensor({}), tensor({})}), "axis 0 is not below rank 0");
  expect_refused(concat(0, {tensor({2, 3}), tensor({2, 4})}), "input 1 is Float32[2, 4], which does not fit");
  expect_refused(concat(0, {tensor({2, 3}), tensor({3})}), "does not fit");
  expect_refused(concat(0, {tensor({2, 3}), tensor({2, 3}), tensor({2, 3, 1})}), "input 2 is");
  expect_refused(concat(0, {tensor({2}), typed(DType::Int32, {2})}), "does not fit");
  const auto huge = static_cast<size_t>(kMax);
  const Operand tall = tensor({huge, 0});
  expect_refused(concat(0, {tall, tall, tall}), "overflows");
  const Operand large = tensor({size_t{1} << 37});
  expect_refused(concat(0, {large, large, large}), "larger than 1 TiB");
}

TEST(Concat, XnnpackAgrees) {
  const std::vector<Operand> parts{
      tensor({2, 3, 4}), tensor({2, 1, 4}), tensor({2, 2, 4}), tensor({2, 7, 4}), tensor({2, 5, 4})};
  for (size_t count = 2; count <= 5; ++count) {
    expect_agreement(concat(1, {parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count)}), 0);
  }
  expect_agreement(concat(0, {tensor({1}), tensor({2})}), 0);
  expect_agreement(concat(2, {tensor({2, 3, 1}), tensor({2, 3, 17})}), 0);
  expect_agreement(concat(0, {tensor({2, 3, 5}), tensor({1, 3, 5})}), 0);
  EXPECT_FALSE(concat(0, std::vector<Operand>(6, tensor({1}))).in_xnnpack());
  EXPECT_FALSE(concat(0, {tensor({1})}).in_xnnpack());
  EXPECT_FALSE(concat(0, {tensor({1}), tensor({0})}).in_xnnpack());
}

TEST(Concat, HasShortRowsOfItsOwn) {
  const auto kind = [](const OpCase& op, bool float16) {
    ChoiceOptions options;
    options.float16 = float16;
    return op.choose(*op.infer(), options).kind;
  };
  const OpCase short_rows = concat(1, {tensor({30, 1, 100}), tensor({30, 2, 100})});
  EXPECT_EQ(kind(short_rows, false), Choice::Kind::Kernel);
  EXPECT_EQ(kind(short_rows, true), Choice::Kind::Xnnpack) << "in Float16";
  EXPECT_EQ(kind(concat(1, {tensor({30, 100, 100}), tensor({30, 2, 100})}), false), Choice::Kind::Xnnpack);
  EXPECT_EQ(kind(concat(0, {tensor({1, 100}), tensor({2, 100})}), false), Choice::Kind::Xnnpack);
}

TEST(Slice, TakesAPartOfOneAxis) {
  expect_shape(slice(tensor({2, 9}), 1, 2, 4), {2, 4});
  expect_shape(slice(tensor({9}), 0, 0, 9), {9});
  expect_shape(slice(tensor({9}), 0, 9, 0), {0});
  expect_shape(slice(tensor({9}), 0, 0, 3, 4), {3});
  expect_shape(slice(tensor({9}), 0, 8, 1, UINT32_MAX), {1});
  expect_shape(slice(tensor({9}), 0, -1, -2, 1, {3, 5}), {5});
  expect_type(slice(typed(DType::Int64, {9}), 0, 1, 2), DType::Int64);
}

TEST(Slice, Refuses) { // Robustness: N8
  expect_refused(slice(tensor({}), 0, 0, 0), "axis 0 is not below rank 0");
  expect_refused(slice(tensor({9}), 1, 0, 1), "axis 1 is not below rank 1");
  expect_refused(slice(tensor({9}), 0, 0, 1, 0), "step is 0");
  expect_refused(slice(tensor({9}), 0, 1, 9), "9 elements from 1 by 1 are not inside axis 0 of Float32[9]");
  expect_refused(slice(tensor({9}), 0, 10, 0), "are not inside");
  expect_refused(slice(tensor({9}), 0, 1, 3, 4), "are not inside");
  expect_refused(slice(tensor({9}), 0, kMax, kMax), "are not inside");
  expect_refused(slice(tensor({9}), 0, 0, kMax, UINT32_MAX), "are not inside");
  expect_refused(slice(tensor({9}), 0, -1, 1, 1, {-1}), "are not inside");
  expect_refused(slice(tensor({9}), 0, 0, -1, 1, {-1}), "are not inside");
}

TEST(Slice, XnnpackAgrees) {
  expect_agreement(slice(tensor({9}), 0, 2, 4), 0);
  expect_agreement(slice(tensor({2, 9, 3}), 1, 0, 9), 0);
  expect_agreement(slice(tensor({2, 9, 3}), 2, 2, 1), 0);
  expect_agreement(slice(tensor({2, 2, 2, 2, 2, 3}), 0, 1, 1), 0);
  EXPECT_FALSE(slice(tensor({9}), 0, 0, 2, 2).in_xnnpack());
  EXPECT_FALSE(slice(tensor({9}), 0, -1, 2, 1, {0}).in_xnnpack());
  EXPECT_FALSE(slice(tensor({9}), 0, 0, 0).in_xnnpack());
}

TEST(Pad, GrowsEveryAxis) {
  expect_shape(pad(tensor({2, 3}), {1, 0}, {2, 4}), {5, 7});
  expect_shape(pad(tensor({0}), {1}, {1}), {2});
  expect_shape(pad(tensor({}), {}, {}), {});
  expect_type(pad(typed(DType::Int64, {2}), {1}, {1}, -100), DType::Int64);
  expect_type(pad(typed(DType::Bool, {2}), {1}, {1}, 1), DType::Bool);
}

TEST(Pad, Refuses) { // Robustness: N7
  expect_refused(pad(tensor({2, 3}), {1}, {2, 4}), "pads 1 and 2 axes of Float32[2, 3]");
  expect_refused(pad(tensor({2, 3}), {1, 1}, {2}), "pads 2 and 1 axes");
  expect_refused(OpCase([](Builder& builder) { return schema::CreatePad(builder); }, {tensor({2})}), "pads 0 and 0");
  expect_refused(pad(typed(DType::Int64, {2}), {1}, {1}, 0.5f), "pads Int64[2] with 0.5");
  expect_refused(pad(typed(DType::Int32, {2}), {1}, {1}, 1e10f), "pads Int32[2] with 1e+10");
  expect_refused(pad(typed(DType::Bool, {2}), {1}, {1}, 2), "pads Bool[2] with 2");
  expect_refused(pad(tensor({2, 2}), {UINT32_MAX, UINT32_MAX}, {0, 0}), "larger than 1 TiB");
}

TEST(PadBorder, Shape) {
  expect_shape(pad_border(PadMode::Reflect, tensor({2, 3}), {1, 2}, {0, 2}), {3, 7});
  expect_shape(pad_border(PadMode::Replicate, tensor({2, 3}), {9, 0}, {0, 9}), {11, 12});
  expect_shape(pad_border(PadMode::Circular, tensor({2, 3}), {2, 3}, {0, 3}), {4, 9});
  expect_shape(pad_border(PadMode::Reflect, tensor({0, 3}), {0, 1}, {0, 0}), {0, 4});
}

TEST(PadBorder, Refuses) {
  expect_refused(pad_border(PadMode::Reflect, tensor({2, 3}), {0, 3}, {0, 0}), "padding of 3 repeats more");
  expect_refused(pad_border(PadMode::Reflect, tensor({2, 3}), {0, 0}, {2, 0}), "padding of 2 repeats more");
  expect_refused(pad_border(PadMode::Reflect, tensor({0, 3}), {1, 0}, {0, 0}), "padding of 1 repeats more");
  expect_refused(pad_border(PadMode::Replicate, tensor({0, 3}), {1, 0}, {0, 0}), "padding of 1 repeats more");
  expect_refused(pad_border(PadMode::Circular, tensor({2, 3}), {0, 4}, {0, 0}), "padding of 4 repeats more");
}

TEST(PadBorder, RepeatsTheInput) {
  const Operand x = tensor({1, 4}, {1, 2, 3, 4});
  const auto run = [&](PadMode mode) { return pad_border(mode, x, {0, 3}, {0, 2}).run_kernel(); };
  EXPECT_EQ(run(PadMode::Reflect), (std::vector<float>{4, 3, 2, 1, 2, 3, 4, 3, 2}));
  EXPECT_EQ(run(PadMode::Replicate), (std::vector<float>{1, 1, 1, 1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(run(PadMode::Circular), (std::vector<float>{2, 3, 4, 1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(
      pad_border(PadMode::Circular, tensor({2, 2}, {1, 2, 3, 4}), {1, 0}, {0, 1}).run_kernel(),
      (std::vector<float>{3, 4, 3, 1, 2, 1, 3, 4, 3}));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
