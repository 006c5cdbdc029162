// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/program/sizes.h>

#include <limits>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t resolve(const Sizes& sizes, int64_t entry) {
  const schema::Size size(entry);
  return sizes.resolve(&size);
}

// Two inputs, x [e0, 3] and an integer, whose values are e0 and e1; tests add more expressions.
class SizesTest : public ::testing::Test {
 protected:
  SizesTest() {
    const int64_t rows = def_.expr(DimOp::InputDim, 0, 0);
    def_.expr(DimOp::InputInt, 1);
    def_.input({rows, 3});
    def_.inputs.push_back({kNone, {}});
  }

  // The expression `op` of two integers, for arguments that no range limits.
  StatusOr<int64_t> compute(DimOp op, int64_t a, int64_t b) {
    GraphDef def = def_;
    const int64_t left = def.expr(DimOp::Const, a);
    const int64_t right = def.expr(DimOp::Const, b);
    const int64_t result = def.expr(op, -1 - left, -1 - right);
    StatusOr<Sizes> sizes = evaluate(def, 2, 0);
    if (!sizes.ok()) {
      return sizes.status();
    }
    return resolve(*sizes, result);
  }

  StatusOr<Sizes> evaluate(const GraphDef& def, size_t rows, int64_t integer) {
    bytes_ = def.build();
    ArgumentSize arguments[2];
    arguments[0].shape = {rows, 3};
    arguments[1].integer = integer;
    return evaluate_sizes(*schema::GetGraph(bytes_.data()), {arguments, 2});
  }

  int64_t value_of(DimOp op, int64_t a, int64_t b) {
    StatusOr<int64_t> result = compute(op, a, b);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : kMin;
  }

  std::string message_of(DimOp op, int64_t a, int64_t b) {
    const StatusOr<int64_t> result = compute(op, a, b);
    EXPECT_EQ(result.status().code(), Error::InvalidArgument);
    return result.status().message();
  }

  GraphDef def_;
  std::vector<uint8_t> bytes_;
};

TEST_F(SizesTest, ReadsArguments) {
  StatusOr<Sizes> sizes = evaluate(def_, 5, -7);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(resolve(*sizes, -1), 5);
  EXPECT_EQ(resolve(*sizes, -2), -7);
  EXPECT_EQ(resolve(*sizes, 9), 9) << "a literal";
  EXPECT_EQ(resolve(*sizes, 0), 0) << "a literal";
}

TEST_F(SizesTest, ComputesEveryOp) {
  EXPECT_EQ(value_of(DimOp::Add, 7, -3), 4);
  EXPECT_EQ(value_of(DimOp::Mul, 7, -3), -21);
  EXPECT_EQ(value_of(DimOp::Min, 7, -3), -3);
  EXPECT_EQ(value_of(DimOp::Max, 7, -3), 7);
}

// 0.29 * 100 is 28.999999999999996, 0.7 * 10 is 7: the rounding of Float64 counts, not the real numbers.
TEST_F(SizesTest, ScalesInFloat64) {
  const struct {
    int64_t a;
    double factor;
    int64_t scaled;
  } cases[] = {
      {10, 0.7, 7}, {100, 0.29, 28}, {7, 1.7, 11}, {9, 0.0, 0}, {-7, 0.5, -3}, {kMax - 1023, 1.0, kMax - 1023}};
  for (const auto& c : cases) {
    GraphDef def = def_;
    const int64_t size = def.expr(DimOp::Const, c.a);
    const int64_t scaled = def.expr(DimOp::Scale, -1 - size, bits_of(c.factor));
    StatusOr<Sizes> sizes = evaluate(def, 2, 0);
    ASSERT_TRUE(sizes.ok()) << sizes.status().message();
    EXPECT_EQ(resolve(*sizes, scaled), c.scaled) << c.a << " * " << c.factor;
  }
}

TEST_F(SizesTest, RefusesScaledSizesWithoutEnd) {
  for (const auto& [a, factor] :
       {std::pair{kMax, 1.0},
        std::pair{kMin, 1.0},
        std::pair{int64_t{1}, 1e300},
        std::pair{int64_t{1}, std::numeric_limits<double>::infinity()},
        std::pair{int64_t{0}, std::numeric_limits<double>::infinity()},
        std::pair{int64_t{1}, std::numeric_limits<double>::quiet_NaN()}}) {
    GraphDef def = def_;
    const int64_t size = def.expr(DimOp::Const, a);
    def.expr(DimOp::Scale, -1 - size, bits_of(factor));
    const Status status = evaluate(def, 2, 0).status();
    EXPECT_EQ(status.code(), Error::InvalidArgument);
    EXPECT_EQ(status.message(), "a size overflows 64 bits");
  }
}

// As Python's // and %.
TEST_F(SizesTest, DividesDownwards) {
  const struct {
    int64_t a, b, quotient, rest;
  } cases[] = {
      {7, 2, 3, 1},
      {6, 2, 3, 0},
      {0, 5, 0, 0},
      {-1, 2, -1, 1},
      {-7, 2, -4, 1},
      {-6, 2, -3, 0},
      {kMax, 1, kMax, 0},
      {kMin, 1, kMin, 0},
      {kMin, kMax, -2, kMax - 1},
      {kMin, 2, kMin / 2, 0}};
  for (const auto& c : cases) {
    EXPECT_EQ(value_of(DimOp::FloorDiv, c.a, c.b), c.quotient) << c.a << " / " << c.b;
    EXPECT_EQ(value_of(DimOp::Mod, c.a, c.b), c.rest) << c.a << " % " << c.b;
  }
}

TEST_F(SizesTest, RefusesDivisionByZeroOrLess) {
  for (const DimOp op : {DimOp::FloorDiv, DimOp::Mod}) {
    EXPECT_EQ(message_of(op, 7, 0), "a size is divided by 0, which is not positive");
    EXPECT_EQ(message_of(op, kMin, -1), "a size is divided by -1, which is not positive");
  }
}

TEST_F(SizesTest, RefusesOverflow) {
  EXPECT_EQ(message_of(DimOp::Add, kMax, 1), "a size overflows 64 bits");
  EXPECT_EQ(message_of(DimOp::Add, kMin, -1), "a size overflows 64 bits");
  EXPECT_EQ(message_of(DimOp::Mul, kMin, -1), "a size overflows 64 bits");
  EXPECT_EQ(message_of(DimOp::Mul, int64_t{1} << 32, int64_t{1} << 31), "a size overflows 64 bits");
}

TEST_F(SizesTest, ChecksRanges) {
  def_.ranges.emplace_back(0, 2, 5, 3);
  def_.ranges.emplace_back(1, 0, 9, 1);
  EXPECT_TRUE(evaluate(def_, 2, 0).ok());
  EXPECT_TRUE(evaluate(def_, 5, 9).ok());
  for (const auto& [rows, integer, named] :
       {std::tuple{1, 0, "is 1, but the model was exported for 2 to 5"},
        std::tuple{6, 0, "is 6, but the model was exported for 2 to 5"},
        std::tuple{3, -1, "is -1, but the model was exported for 0 to 9"},
        std::tuple{3, 10, "is 10, but the model was exported for 0 to 9"}}) {
    const Status status = evaluate(def_, static_cast<size_t>(rows), integer).status();
    EXPECT_EQ(status.code(), Error::InvalidArgument);
    EXPECT_NE(status.message().find(named), std::string::npos) << status.message();
  }
}

TEST_F(SizesTest, ChecksRangesOfComputedSizes) {
  def_.expr(DimOp::Mul, 0, 0);
  def_.ranges.emplace_back(2, 0, 100, 4);
  EXPECT_TRUE(evaluate(def_, 10, 0).ok());
  EXPECT_FALSE(evaluate(def_, 11, 0).ok());
}

TEST_F(SizesTest, PlansForThePlannedSizes) {
  def_.expr(DimOp::Mul, 0, 0);
  def_.ranges.emplace_back(0, 1, 100, 6);
  def_.ranges.emplace_back(1, 0, 9, 4);
  bytes_ = def_.build();
  StatusOr<Sizes> sizes = planned_sizes(*schema::GetGraph(bytes_.data()));
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(resolve(*sizes, -1), 6);
  EXPECT_EQ(resolve(*sizes, -2), 4);
  EXPECT_EQ(resolve(*sizes, -3), 36);
}

// A symbol may be known only through 2 * s: then the range is that of s.
TEST_F(SizesTest, PlansWithARangeOfAComputedSize) {
  const int64_t two = def_.expr(DimOp::Const, 2);
  const int64_t half = def_.expr(DimOp::FloorDiv, 0, -1 - two);
  const int64_t next = def_.expr(DimOp::Add, -1 - half, -1 - two);
  def_.ranges.emplace_back(static_cast<uint32_t>(-1 - half), 1, 100, 6);
  bytes_ = def_.build();
  StatusOr<Sizes> sizes = planned_sizes(*schema::GetGraph(bytes_.data()));
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(resolve(*sizes, next), 8);
}

TEST_F(SizesTest, ResolvesShapes) {
  GraphDef def = def_;
  def.value({-1, 4, 0, -2});
  def.value({});
  StatusOr<Sizes> sizes = evaluate(def, 5, 2);
  ASSERT_TRUE(sizes.ok());
  const auto* values = schema::GetGraph(bytes_.data())->values();
  EXPECT_EQ(sizes->resolve(values->Get(1)->dims())->to_string(), "[5, 4, 0, 2]");
  EXPECT_EQ(sizes->resolve(values->Get(2)->dims())->to_string(), "[]");
  EXPECT_EQ(sizes->resolve(static_cast<const flatbuffers::Vector<const schema::Size*>*>(nullptr))->to_string(), "[]");
}

TEST_F(SizesTest, RefusesNegativeSizes) {
  GraphDef def = def_;
  def.value({1, -2});
  StatusOr<Sizes> sizes = evaluate(def, 5, -3);
  ASSERT_TRUE(sizes.ok());
  const Status status = sizes->resolve(schema::GetGraph(bytes_.data())->values()->Get(1)->dims()).status();
  EXPECT_EQ(status.code(), Error::InvalidArgument);
  EXPECT_EQ(status.message(), "a shape has the negative size of -3");
}

TEST(SizesWithoutExpressionsTest, AreEmpty) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::CreateGraph(builder));
  const schema::Graph& graph = *schema::GetGraph(builder.GetBufferPointer());
  EXPECT_TRUE(evaluate_sizes(graph, {}).ok());
  EXPECT_TRUE(planned_sizes(graph).ok());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
