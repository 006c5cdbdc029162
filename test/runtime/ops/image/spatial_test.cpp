// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Pools with indices, samples of grids, padding.
#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::GridPaddingMode;
using schema::PadMode;
using schema::SampleKind;

struct PoolSizes {
  std::vector<uint32_t> kernel, stride, before, after, dilation;
};

OpCase max_pool_indices(const PoolSizes& sizes, const Operand& x, size_t num_outputs = 2) {
  const auto attributes = [&](Builder& b) {
    return schema::CreateMaxPoolIndicesDirect(
        b, &sizes.kernel, &sizes.stride, &sizes.before, &sizes.after, &sizes.dilation);
  };
  return OpCase(attributes, {x}, {}, num_outputs);
}

OpCase adaptive_max_pool_indices(const std::vector<uint32_t>& output, const Operand& x) {
  const auto attributes = [&](Builder& b) {
    return schema::CreateMaxPoolIndicesDirect(b, nullptr, nullptr, nullptr, nullptr, nullptr, &output);
  };
  return OpCase(attributes, {x}, {}, 2);
}

const Operand kVolume = tensor({2, 4, 6, 5, 3});

TEST(MaxPoolIndices, Shapes) {
  expect_types(
      max_pool_indices({{2, 3, 1}, {2, 1, 1}, {0, 1, 0}, {0, 1, 0}, {1, 1, 1}}, kVolume),
      {"Float32[2, 2, 6, 5, 3]", "Int64[2, 2, 6, 5, 3]"});
  expect_types(adaptive_max_pool_indices({1, 7, 2}, kVolume), {"Float32[2, 1, 7, 2, 3]", "Int64[2, 1, 7, 2, 3]"});
  const auto nothing = [](Builder& b) { return schema::CreateMaxPoolIndices(b); };
  expect_types(OpCase(nothing, {kVolume}, {}, 2), {"Float32[2, 4, 6, 5, 3]", "Int64[2, 4, 6, 5, 3]"});
}

TEST(MaxPoolIndices, Refuses) { // Robustness: N16
  const std::vector<uint32_t> zeros{0, 0, 0}, ones{1, 1, 1};
  const PoolSizes good{{2, 2, 2}, ones, zeros, zeros, ones};
  expect_refused(max_pool_indices(good, tensor({2, 6, 5, 3})), "must have rank 5");
  expect_refused(max_pool_indices(good, tensor({2, 0, 6, 5, 3})), "is empty");
  expect_refused(max_pool_indices(good, typed(DType::Int32, {2, 4, 6, 5, 3})), "must be Float32");
  expect_refused(max_pool_indices(good, kVolume, 1), "has 1 outputs, but the operator makes 2");
  expect_refused(max_pool_indices({{2, 2}, ones, zeros, zeros, ones}, kVolume), "other than three");
  expect_refused(max_pool_indices({{0, 2, 2}, ones, zeros, zeros, ones}, kVolume), "kernel 0");
  expect_refused(max_pool_indices({{2, 2, 2}, zeros, zeros, zeros, ones}, kVolume), "stride 0");
  expect_refused(max_pool_indices({{2, 2, 2}, ones, zeros, zeros, zeros}, kVolume), "dilation 0");
  expect_refused(max_pool_indices({{2, 2, 2}, ones, {0, 2, 0}, zeros, ones}, kVolume), "as large as the window");
  expect_refused(max_pool_indices({{5, 2, 2}, ones, zeros, zeros, ones}, kVolume), "does not fit");
  const uint32_t huge = UINT32_MAX;
  expect_refused(adaptive_max_pool_indices({huge, huge, huge}, kVolume), "");
}

OpCase grid_sample(
    const Operand& x,
    const Operand& grid,
    SampleKind kind = SampleKind::Bilinear,
    GridPaddingMode padding = GridPaddingMode::Zeros) {
  const auto attributes = [&](Builder& b) { return schema::CreateGridSample(b, kind, padding); };
  return OpCase(attributes, {x, grid});
}

TEST(GridSample, Shape) {
  expect_shape(grid_sample(tensor({2, 5, 6, 3}), tensor({2, 4, 7, 2})), {2, 4, 7, 3});
  expect_shape(grid_sample(tensor({0, 5, 6, 3}), tensor({0, 4, 7, 2})), {0, 4, 7, 3});
}

TEST(GridSample, Refuses) {
  const Operand x = tensor({2, 5, 6, 3}), grid = tensor({2, 4, 7, 2});
  expect_refused(grid_sample(tensor({2, 5, 6}), grid), "must have rank 4");
  expect_refused(grid_sample(x, tensor({2, 4, 2})), "must have rank 4");
  expect_refused(grid_sample(x, tensor({2, 4, 7, 3})), "cannot sample");
  expect_refused(grid_sample(x, tensor({1, 4, 7, 2})), "cannot sample");
  expect_refused(grid_sample(tensor({2, 0, 6, 3}), grid), "cannot sample");
  expect_refused(grid_sample(x, typed(DType::Int64, {2, 4, 7, 2})), "must be Float32");
}

OpCase padded(PadMode mode, const Operand& x, std::vector<uint32_t> before, std::vector<uint32_t> after) {
  const auto attributes = [&](Builder& b) { return schema::CreatePadDirect(b, &before, &after, 0, mode); };
  return OpCase(attributes, {x});
}

TEST(PadBorder, Shape) {
  expect_shape(padded(PadMode::Reflect, tensor({2, 3}), {1, 2}, {0, 2}), {3, 7});
  expect_shape(padded(PadMode::Replicate, tensor({2, 3}), {9, 0}, {0, 9}), {11, 12});
  expect_shape(padded(PadMode::Circular, tensor({2, 3}), {2, 3}, {0, 3}), {4, 9});
  expect_shape(padded(PadMode::Reflect, tensor({0, 3}), {0, 1}, {0, 0}), {0, 4});
}

TEST(PadBorder, Refuses) {
  expect_refused(padded(PadMode::Reflect, tensor({2, 3}), {0, 3}, {0, 0}), "padding of 3 repeats more");
  expect_refused(padded(PadMode::Reflect, tensor({2, 3}), {0, 0}, {2, 0}), "padding of 2 repeats more");
  expect_refused(padded(PadMode::Reflect, tensor({0, 3}), {1, 0}, {0, 0}), "padding of 1 repeats more");
  expect_refused(padded(PadMode::Replicate, tensor({0, 3}), {1, 0}, {0, 0}), "padding of 1 repeats more");
  expect_refused(padded(PadMode::Circular, tensor({2, 3}), {0, 4}, {0, 0}), "padding of 4 repeats more");
}

TEST(PadBorder, RepeatsTheInput) {
  const Operand x = tensor({1, 4}, {1, 2, 3, 4});
  const auto run = [&](PadMode mode) { return padded(mode, x, {0, 3}, {0, 2}).run_kernel(); };
  EXPECT_EQ(run(PadMode::Reflect), (std::vector<float>{4, 3, 2, 1, 2, 3, 4, 3, 2}));
  EXPECT_EQ(run(PadMode::Replicate), (std::vector<float>{1, 1, 1, 1, 2, 3, 4, 4, 4}));
  EXPECT_EQ(run(PadMode::Circular), (std::vector<float>{2, 3, 4, 1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(
      padded(PadMode::Circular, tensor({2, 2}, {1, 2, 3, 4}), {1, 0}, {0, 1}).run_kernel(),
      (std::vector<float>{3, 4, 3, 1, 2, 1, 3, 4, 3}));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
