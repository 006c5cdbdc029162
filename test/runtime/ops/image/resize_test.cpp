// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::GridPaddingMode;
using schema::SampleKind;

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

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
