// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Where a plan has attention in bfloat16.

#include <algorithm>

#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

const std::vector<int64_t> kRows{1, 2, 8, 16};

// Attention of operands that were widened from these types, unless they are Float32.
struct AttentionGraph : GraphDef {
  explicit AttentionGraph(DType query = DType::BFloat16, DType key = DType::BFloat16, DType value = DType::BFloat16) {
    std::vector<uint32_t> operands;
    for (const DType type : {query, key, value}) {
      const uint32_t x = input(kRows, type);
      operands.push_back(type == DType::Float32 ? x : node(cast(DType::Float32), {x}, kRows));
    }
    result = node(attention(0.3f), operands, kRows);
  }
  uint32_t rounded_to(DType type) {
    return node(cast(type), {result}, kRows, type);
  }
  uint32_t result;
};

bool is_in_bfloat16(const GraphDef& g, const PlanOptions& options = {}) {
  const Plan plan = plan_of(g, options);
  return std::any_of(plan.choices.begin(), plan.choices.end(), [](const Choice& choice) { return choice.bfloat16; });
}

TEST(BFloat16AttentionPlan, OfAModelInBFloat16) {
  AttentionGraph g;
  g.output(g.rounded_to(DType::BFloat16));
  g.output(g.rounded_to(DType::BFloat16));
  EXPECT_EQ(is_in_bfloat16(g), Cpu::get().bfloat16);
  EXPECT_EQ(reason_for_no_bfloat16(plan_of(g)).empty(), Cpu::get().bfloat16);
}

TEST(BFloat16AttentionPlan, NotIfTheResultIsReadAsItIs) {
  AttentionGraph result, reader, other_type;
  result.output(result.rounded_to(DType::BFloat16));
  result.output(result.result);
  EXPECT_FALSE(is_in_bfloat16(result));
  reader.output(reader.rounded_to(DType::BFloat16));
  reader.output(reader.node(unary(schema::UnaryKind::Neg), {reader.result}, kRows));
  EXPECT_FALSE(is_in_bfloat16(reader));
  other_type.output(other_type.rounded_to(DType::BFloat16));
  other_type.output(other_type.rounded_to(DType::Float16));
  EXPECT_FALSE(is_in_bfloat16(other_type));
}

TEST(BFloat16AttentionPlan, NotIfAnOperandHasMoreBits) {
  constexpr DType kBFloat16 = DType::BFloat16;
  for (const DType type : {DType::Float32, DType::Float16}) {
    for (AttentionGraph g :
         {AttentionGraph(type), AttentionGraph(kBFloat16, type), AttentionGraph(kBFloat16, kBFloat16, type)}) {
      g.output(g.rounded_to(kBFloat16));
      EXPECT_FALSE(is_in_bfloat16(g));
      PlanOptions options;
      options.bfloat16 = true;
      EXPECT_EQ(is_in_bfloat16(g, options), Cpu::get().bfloat16);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
