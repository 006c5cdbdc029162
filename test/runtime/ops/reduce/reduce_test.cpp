// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::ReduceKind;

OpCase reduce(ReduceKind kind, std::vector<uint8_t> axes, bool keep_dims, Operand x) {
  const auto attributes = [&](Builder& builder) { return schema::CreateReduceDirect(builder, kind, &axes, keep_dims); };
  return OpCase(attributes, {std::move(x)});
}

OpCase softmax(uint8_t axis, Operand x, bool log = false) {
  return OpCase([&](Builder& builder) { return schema::CreateSoftmax(builder, axis, log); }, {std::move(x)});
}

TEST(Reduce, DropsOrKeepsAxes) {
  expect_shape(reduce(ReduceKind::Sum, {1}, false, tensor({2, 3, 4})), {2, 4});
  expect_shape(reduce(ReduceKind::Sum, {1}, true, tensor({2, 3, 4})), {2, 1, 4});
  expect_shape(reduce(ReduceKind::Sum, {0, 1, 2}, false, tensor({2, 3, 4})), {});
  expect_shape(reduce(ReduceKind::Mean, {0}, true, tensor({0, 3})), {1, 3});
  expect_shape(reduce(ReduceKind::Mean, {7}, false, tensor({1, 1, 1, 1, 1, 1, 1, 2})), {1, 1, 1, 1, 1, 1, 1});
}

TEST(Reduce, Refuses) { // Robustness: N11
  expect_refused(OpCase([](Builder& builder) { return schema::CreateReduce(builder); }, {tensor({2})}), "has no axes");
  expect_refused(reduce(ReduceKind::Sum, {}, false, tensor({2})), "has no axes");
  expect_refused(reduce(ReduceKind::Sum, {1}, false, tensor({2})), "axis 1 is not below rank 1");
  expect_refused(reduce(ReduceKind::Sum, {0}, false, tensor({})), "axis 0 is not below rank 0");
  expect_refused(reduce(ReduceKind::Sum, {255}, false, tensor({2})), "axis 255");
  expect_refused(reduce(ReduceKind::Sum, {0, 0}, false, tensor({2, 3})), "the axes do not ascend");
  expect_refused(reduce(ReduceKind::Sum, {1, 0}, false, tensor({2, 3})), "the axes do not ascend");
  expect_refused(reduce(ReduceKind::Mean, {0}, false, typed(DType::Int64, {2})), "Mean of Int64");
  expect_refused(reduce(ReduceKind::Sum, {0}, false, typed(DType::Bool, {2})), "Sum of Bool");
  expect_refused(reduce(ReduceKind::Sum, {0}, false, typed(DType::BFloat16, {2})), "Sum of BFloat16");
  expect_refused(reduce(ReduceKind::Any, {0}, false, tensor({2})), "Any of Float32");
}

TEST(Reduce, OfFloat64) {
  const Operand x = typed(DType::Float64, {2, 3});
  for (const ReduceKind kind :
       {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod}) {
    EXPECT_EQ(reduce(kind, {0}, false, x).infer()->to_string(), "Float64[3]");
  }
  expect_refused(reduce(ReduceKind::All, {0}, false, x), "All of Float64");
  EXPECT_EQ(softmax(1, x).infer()->to_string(), "Float64[2, 3]");
  EXPECT_FALSE(softmax(1, x).in_xnnpack());
}

TEST(Reduce, GivesZeroForNothing) {
  const OpCase empty = reduce(ReduceKind::Sum, {1}, false, tensor({2, 0}));
  EXPECT_EQ(empty.run_kernel(), (std::vector<float>{0, 0}));
}

TEST(ArgReduce, Refuses) {
  const auto arg_reduce = [](schema::ArgReduceKind kind, uint8_t axis, Operand x) {
    return OpCase([=](Builder& builder) { return schema::CreateArgReduce(builder, kind, axis); }, {std::move(x)});
  };
  const auto max = schema::ArgReduceKind::Max;
  expect_refused(arg_reduce(max, 1, tensor({2})), "axis 1 is not below rank 1");
  expect_refused(arg_reduce(max, 0, typed(DType::Bool, {2})), "of Bool");
  expect_refused(arg_reduce(max, 0, typed(DType::Float16, {2})), "of Float16");
  expect_refused(arg_reduce(max, 0, tensor({0, 3})), "the axis is empty");
}

TEST(Scan, Refuses) {
  const auto scan = [](schema::ScanKind kind, uint8_t axis, Operand x) {
    return OpCase([=](Builder& builder) { return schema::CreateScan(builder, kind, axis); }, {std::move(x)});
  };
  expect_shape(scan(schema::ScanKind::Sum, 1, tensor({2, 3})), {2, 3});
  expect_refused(scan(schema::ScanKind::Sum, 0, tensor({})), "axis 0 is not below rank 0");
  expect_refused(scan(schema::ScanKind::Prod, 0, typed(DType::Bool, {2})), "of Bool");
  expect_refused(scan(schema::ScanKind::Sum, 0, typed(DType::Float16, {2})), "of Float16");
}

TEST(Sort, Refuses) {
  const auto sort = [](uint8_t axis, Operand x, uint32_t count = 0) {
    return OpCase([=](Builder& builder) { return schema::CreateSort(builder, axis, false, count); }, {std::move(x)});
  };
  expect_types(sort(1, tensor({2, 3, 4})), {"Int64[2, 3, 4]"});
  expect_types(sort(1, tensor({2, 3, 4}), 1), {"Int64[2, 1, 4]"});
  expect_types(sort(1, tensor({2, 3, 4}), 3), {"Int64[2, 3, 4]"});
  expect_types(sort(1, tensor({2, 0, 4})), {"Int64[2, 0, 4]"});
  expect_refused(sort(2, tensor({2, 3})), "axis 2 is not below rank 2");
  expect_refused(sort(0, typed(DType::Float16, {2})), "of Float16");
  expect_refused(sort(0, typed(DType::Int32, {size_t{1} << 33})), "axis of");
  expect_refused(sort(1, tensor({2, 3}), 4), "the first 4 of 3");
  expect_refused(sort(1, tensor({2, 3}), ~0u), "the first 4294967295 of 3");
  expect_refused(sort(1, tensor({2, 0}), 1), "the first 1 of 0");
}

TEST(Softmax, HasTheShapeOfItsInput) {
  expect_shape(softmax(1, tensor({2, 3, 4})), {2, 3, 4});
  expect_shape(softmax(0, tensor({0})), {0});
}

TEST(Softmax, Refuses) { // Robustness: N12
  expect_refused(softmax(0, tensor({})), "axis 0 is not below rank 0");
  expect_refused(softmax(2, tensor({2, 3})), "axis 2 is not below rank 2");
  expect_refused(softmax(0, typed(DType::Int32, {2})), "must be Float32");
}

TEST(Softmax, ComputesShortRowsItself) {
  const auto kind = [](const OpCase& op) {
    return op.choose(*op.infer(), ChoiceOptions(), cpu_with_blocks(true)).kind;
  };
  EXPECT_EQ(kind(softmax(1, tensor({9, 4}))), Choice::Kind::Kernel);
  EXPECT_EQ(kind(softmax(1, tensor({9, 5}))), Choice::Kind::Xnnpack);
}

TEST(Softmax, XnnpackAgrees) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_agreement(softmax(0, tensor({1})));
  expect_agreement(softmax(2, tensor({2, 3, 70})));
  expect_agreement(softmax(5, tensor({2, 1, 2, 1, 2, 17})));
  expect_agreement(softmax(1, tensor({2, 1})));
  const std::vector<std::vector<float>> rows{
      {-inf, 1, 2},
      {-inf, -inf, -inf},
      {inf, 1, 2},
      {nan, 1, 2},
      {1, 2, nan},
      {3e38f, -3e38f, 0},
      {-1e5f, 0, 1},
      {100, -100, 100}};
  for (const std::vector<float>& row : rows) {
    std::vector<float> x;
    while (x.size() < 150) {
      x.insert(x.end(), row.begin(), row.end());
    }
    expect_agreement(softmax(1, tensor({1, 3}, row)));
    expect_agreement(softmax(0, tensor({150}, x)));
  }
  EXPECT_FALSE(softmax(0, tensor({2, 3})).in_xnnpack());
  EXPECT_FALSE(softmax(1, tensor({2, 3}), true).in_xnnpack());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
