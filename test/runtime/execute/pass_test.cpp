// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Nodes that a pass computes as one: numbers that are rounded to 16 bits, scaled and shifted.

#include "executable_call.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;

void expect_bits_of_separate_steps(const GraphDef& g) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const std::vector<uint8_t> bytes = g.build();
  Executable::Settings separate;
  separate.fuse_elementwise = false;
  const std::unique_ptr<Executable> together = load_executable(bytes), alone = load_executable(bytes, separate);
  const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool(pthreadpool_create(2), pthreadpool_destroy);
  ASSERT_EQ(kinds(plan_of(g)).front(), 'F');
  std::mt19937 random(3);
  for (int round = 0; round < 8; ++round) {
    const GraphCall call = make_call(alone->blob(), round == 0 ? nullptr : &random);
    const Results expected = run(*alone, call);
    ASSERT_TRUE(expected.status.ok()) << expected.status.message();
    for (const pthreadpool_t threads : {pthreadpool_t{nullptr}, pool.get()}) {
      const Results actual = run(*together, call, threads);
      ASSERT_TRUE(actual.status.ok()) << actual.status.message();
      EXPECT_EQ(actual.outputs, expected.outputs) << call.sizes[0].shape.to_string();
    }
  }
}

// x [n, 37] of any type, rounded to `type`, times [37] plus [37].
struct RoundedGraph : GraphDef {
  RoundedGraph(DType from, DType type) {
    const uint32_t x = input(dims, from);
    rounded = node(cast(type), {x}, dims, type);
    const uint32_t widened = node(cast(DType::Float32), {rounded}, dims);
    const uint32_t scaled = node(binary(BinaryKind::Mul), {widened, constant({37}, some_numbers(37, 2))}, dims);
    shifted = node(binary(BinaryKind::Add), {scaled, constant({37}, some_numbers(37, 3))}, dims);
  }

  const std::vector<int64_t> dims{ranged(DimOp::InputDim, 0, 0, 0, 9, 5), 37};
  uint32_t rounded, shifted;
};

constexpr DType kReduced[] = {DType::Float16, DType::BFloat16};

TEST(PassTest, RoundsNumbersOfAnyType) {
  for (const DType type : kReduced) {
    for (const DType from :
         {DType::Float32,
          DType::Float16,
          DType::BFloat16,
          DType::Float64,
          DType::Int64,
          DType::Int32,
          DType::Int8,
          DType::UInt8,
          DType::Bool}) {
      SCOPED_TRACE(std::string(name_of(from)) + " to " + name_of(type));
      RoundedGraph g(from, type);
      g.output(g.shifted);
      expect_bits_of_separate_steps(g);
    }
  }
}

TEST(PassTest, MakesNumbersOfAnyType) {
  for (const DType type : kReduced) {
    SCOPED_TRACE(name_of(type));
    RoundedGraph reduced(DType::Float32, type);
    reduced.output(reduced.node(cast(type), {reduced.shifted}, reduced.dims, type));
    expect_bits_of_separate_steps(reduced);
    for (const DType integer : {DType::Int8, DType::UInt8}) {
      SCOPED_TRACE(name_of(integer));
      RoundedGraph g(DType::Float32, type);
      g.quantized(g.shifted, 0.25f, 3, integer);
      g.output(g.node(softmax(1), {g.shifted}, g.dims)); // reads integers
      expect_bits_of_separate_steps(g);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
