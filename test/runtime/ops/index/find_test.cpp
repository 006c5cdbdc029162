// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

OpCase nonzero_case(Operand x, int64_t size) {
  const auto attributes = [=](Builder& builder) {
    const schema::Size entry(size);
    return schema::CreateNonzero(builder, &entry);
  };
  return OpCase(attributes, {std::move(x)});
}

OpCase repeats(Operand x, int64_t size) {
  const auto attributes = [=](Builder& builder) {
    const schema::Size entry(size);
    return schema::CreateRepeatIndices(builder, &entry);
  };
  return OpCase(attributes, {std::move(x)});
}

OpCase suppression(std::vector<Operand> inputs, int64_t size, double threshold = 0.5) {
  const auto attributes = [=](Builder& builder) {
    const schema::Size entry(size);
    return schema::CreateNonMaxSuppression(builder, threshold, &entry);
  };
  return OpCase(attributes, std::move(inputs));
}

void expect_int64(const OpCase& op, const Shape& shape) {
  expect_types(op, {TensorType{DType::Int64, shape}.to_string()});
}

TEST(Nonzero, Shapes) {
  expect_int64(nonzero_case(typed(DType::Bool, {2, 5}), 3), {3, 2});
  expect_int64(nonzero_case(typed(DType::Bool, {2, 5}), 10), {10, 2});
  expect_int64(nonzero_case(typed(DType::Bool, {}), 1), {1, 0});
  expect_int64(nonzero_case(typed(DType::Bool, {0, 3}), 0), {0, 2});
}

TEST(Nonzero, Refuses) {
  expect_refused(nonzero_case(tensor({2, 5}), 3), "must be Bool");
  expect_refused(nonzero_case(typed(DType::Bool, {2, 5}), 11), "it cannot find 11 of 10 elements");
}

TEST(RepeatIndices, Shapes) {
  expect_int64(repeats(typed(DType::Int32, {4}), 9), {9});
  expect_int64(repeats(typed(DType::Int64, {0}), 0), {0});
}

TEST(RepeatIndices, Refuses) {
  expect_refused(repeats(tensor({4}), 9), "must hold integers");
  expect_refused(repeats(typed(DType::Int64, {4, 1}), 9), "rank");
  expect_refused(repeats(typed(DType::Int64, {0}), 1), "it cannot find 1 of 0 elements");
  expect_refused(repeats(typed(DType::Int64, {1}), int64_t{1} << 40), "large");
}

TEST(NonMaxSuppression, Shapes) {
  expect_int64(suppression({tensor({6, 4}), tensor({6})}, 5), {5});
  expect_int64(suppression({typed(DType::Float64, {6, 4}), typed(DType::Float64, {6})}, 6), {6});
  expect_int64(suppression({tensor({0, 4}), tensor({0})}, 0), {0});
}

TEST(NonMaxSuppression, Refuses) {
  expect_refused(suppression({tensor({6, 4}), tensor({6})}, 7), "it cannot find 7 of 6 elements");
  expect_refused(suppression({tensor({6, 4}), tensor({5})}, 5), "[6, 4]");
  expect_refused(suppression({tensor({6, 4}), tensor({6, 1})}, 5), "rank");
  expect_refused(suppression({tensor({6, 4}), typed(DType::Float64, {6})}, 5), "Float64");
  expect_refused(suppression({tensor({6, 4})}, 5), "2");
  expect_refused(suppression({tensor({6, 4}), tensor({6})}, 5, std::numeric_limits<double>::quiet_NaN()), "no number");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
