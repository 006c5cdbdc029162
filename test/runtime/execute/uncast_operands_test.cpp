// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Kernels that read operands in 16 bits instead of what casts make of them, as an Executable runs them.

#include <algorithm>

#include <runtime/kernels/simd/reduced_float.h>

#include "executable_call.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;
using schema::UnaryKind;

constexpr int64_t kPlaces = 20, kHeads = 2, kWidth = 24;
const std::vector<int64_t> kCache{1, kPlaces, kHeads, kWidth};

// Attention to caches, of 16 bits unless said otherwise, from input 1 on; inputs 2 and 3 are new tokens. The position is a
// size of input 0.
struct CacheGraph : GraphDef {
  explicit CacheGraph(DType key_type, DType value_type) : types{key_type, value_type} {
    position = ranged(DimOp::InputDim, 0, 0, 0, 8, 8);
    tokens = ranged(DimOp::InputDim, 1, 1, 1, 12, 12);
    input({position});
    query = input({1, tokens, 2 * kHeads, kWidth});
    for (size_t i = 0; i < 2; ++i) {
      fresh[i] = input({1, tokens, kHeads, kWidth});
      std::vector<uint8_t> content(kPlaces * kHeads * kWidth * element_size(types[i]));
      cache[i] = state(i == 0 ? "key" : "value", kCache, {});
      values[cache[i]].dtype = types[i];
      states[i].initial = ConstantDef{std::nullopt, std::move(content)};
    }
  }

  uint32_t cast_to(DType type, uint32_t id, const std::vector<int64_t>& dims) {
    return values[id].dtype == type ? id : node(cast(type), {id}, dims, type);
  }
  // The cache with the new tokens.
  uint32_t update(size_t i, uint32_t of) {
    const uint32_t narrow = cast_to(types[i], of, {1, tokens, kHeads, kWidth});
    return states[i].update =
               node(slice_scatter({0, position, 0, 0}, {1, 1, 1, 1}), {cache[i], narrow}, kCache, types[i]);
  }
  uint32_t wide(uint32_t id) {
    return cast_to(DType::Float32, id, kCache);
  }
  uint32_t attend(uint32_t key, uint32_t value) {
    return node(attention(0.3f, true, position, true), {query, key, value}, {1, tokens, 2 * kHeads, kWidth});
  }

  DType types[2];
  int64_t position, tokens;
  uint32_t query, fresh[2], cache[2];
};

// Whether attention reads the caches themselves.
bool reads_caches(const CacheGraph& g) {
  const Plan plan = plan_of(g);
  size_t count = 0;
  for (const Step& step : plan.steps) {
    if (g.nodes[step.nodes.front()].attributes.type == schema::Attributes::Attention) {
      for (size_t i = 0; i < 2; ++i) {
        count += g.values[step.inputs[1 + i]].dtype == g.types[i] ? 1 : 0;
      }
    }
  }
  return count == 2;
}

size_t count_casts(const GraphDef& g) {
  const Plan plan = plan_of(g);
  size_t count = 0;
  for (const Step& step : plan.steps) {
    count += static_cast<size_t>(std::count_if(step.nodes.begin(), step.nodes.end(), [&](uint32_t i) {
      return g.nodes[i].attributes.type == schema::Attributes::Cast &&
          g.values[g.nodes[i].outputs[0]].dtype == DType::Float32;
    }));
  }
  return count;
}

std::unique_ptr<Executable> load(const GraphDef& g, bool fuse_elementwise) {
  const std::vector<uint8_t> bytes = g.build();
  Executable::Settings settings;
  settings.fuse_elementwise = fuse_elementwise;
  return load_executable(bytes, settings);
}

// One call after the other, beside a plan that runs all casts.
void check_calls(const GraphDef& g) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const std::unique_ptr<Executable> uncast = load(g, true), cast = load(g, false);
  const pthreadpool_t pool = pthreadpool_create(3);
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const GraphCall call = make_call(cast->blob(), round == 0 ? nullptr : &random);
    const Results expected = run(*cast, call), actual = run(*uncast, call, round % 2 == 0 ? nullptr : pool);
    ASSERT_TRUE(expected.status.ok()) << expected.status.message();
    ASSERT_TRUE(actual.status.ok()) << actual.status.message();
    EXPECT_EQ(actual.outputs, expected.outputs) << "round " << round;
  }
  pthreadpool_destroy(pool);
}

constexpr DType kReduced[] = {DType::BFloat16, DType::Float16};

TEST(UncastOperandsTest, AttentionReadsCachesOf16Bits) {
  for (const DType type : kReduced) {
    SCOPED_TRACE(name_of(type));
    CacheGraph g(type, type);
    const uint32_t key = g.update(0, g.fresh[0]), value = g.update(1, g.fresh[1]);
    g.output(g.attend(g.wide(key), g.wide(value)));
    EXPECT_TRUE(reads_caches(g));
    EXPECT_EQ(count_casts(g), 0);
    const Plan plan = plan_of(g);
    EXPECT_EQ(plan.root[key], g.cache[0]);
    EXPECT_EQ(plan.root[value], g.cache[1]);
    check_calls(g);
  }
}

// The tokens are written when attention has read what was there before.
TEST(UncastOperandsTest, WritesInPlaceBehindAttention) {
  CacheGraph g(DType::BFloat16, DType::BFloat16);
  const uint32_t key = g.wide(g.cache[0]), value = g.wide(g.cache[1]);
  const uint32_t new_key = g.update(0, g.fresh[0]), new_value = g.update(1, g.fresh[1]);
  g.output(g.attend(key, value));
  EXPECT_TRUE(reads_caches(g));
  const Plan plan = plan_of(g);
  EXPECT_EQ(plan.root[new_key], g.cache[0]);
  EXPECT_EQ(plan.root[new_value], g.cache[1]);
  check_calls(g);
}

// Attention reads the old keys, with a query made of the new ones.
TEST(UncastOperandsTest, CopiesWhatAttentionReadsLater) {
  CacheGraph g(DType::BFloat16, DType::BFloat16);
  const uint32_t key = g.wide(g.cache[0]), value = g.wide(g.cache[1]);
  const uint32_t new_key = g.update(0, g.fresh[0]);
  g.update(1, g.fresh[1]);
  const std::vector<int64_t> dims{1, g.tokens, kHeads, kWidth};
  const uint32_t part = g.node(slice(1, 0, g.tokens), {new_key}, dims, DType::BFloat16);
  const std::vector<int64_t> both{1, g.tokens, 2 * kHeads, kWidth};
  g.query = g.node(concat(2), {g.cast_to(DType::Float32, part, dims), g.fresh[1]}, both);
  g.output(g.attend(key, value));
  EXPECT_TRUE(reads_caches(g));
  EXPECT_EQ(plan_of(g).root[new_key], new_key);
  check_calls(g);
}

TEST(UncastOperandsTest, KeepsCastsThatOthersRead) {
  for (const bool is_output : {false, true}) {
    CacheGraph g(DType::Float16, DType::Float16);
    const uint32_t key = g.wide(g.update(0, g.fresh[0])), value = g.wide(g.update(1, g.fresh[1]));
    g.output(g.attend(key, value));
    g.output(is_output ? value : g.node(layer_norm(), {value}, kCache));
    EXPECT_TRUE(reads_caches(g));
    EXPECT_EQ(count_casts(g), 1);
    check_calls(g);
  }
}

TEST(UncastOperandsTest, CastsWhereTypesDiffer) {
  for (const auto& [key_type, value_type] : std::vector<std::pair<DType, DType>>{
           {DType::BFloat16, DType::Float16}, {DType::BFloat16, DType::Float32}, {DType::Float32, DType::Float16}}) {
    CacheGraph g(key_type, value_type);
    g.output(g.attend(g.wide(g.update(0, g.fresh[0])), g.wide(g.update(1, g.fresh[1]))));
    EXPECT_FALSE(reads_caches(g));
    EXPECT_EQ(count_casts(g), key_type == DType::Float32 || value_type == DType::Float32 ? 1 : 2);
    check_calls(g);
  }
}

// Keys and values that are rounded where they are made.
TEST(UncastOperandsTest, ReadsRoundedNumbers) {
  CacheGraph g(DType::BFloat16, DType::BFloat16);
  const std::vector<int64_t> dims{1, g.tokens, kHeads, kWidth};
  uint32_t rounded[2];
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t x = g.node(unary(UnaryKind::Neg), {g.fresh[i]}, dims);
    rounded[i] = g.cast_to(DType::Float32, g.cast_to(DType::BFloat16, x, dims), dims);
    g.update(i, x);
  }
  g.output(
      g.node(attention(0.3f, true, 0, true), {g.query, rounded[0], rounded[1]}, {1, g.tokens, 2 * kHeads, kWidth}));
  EXPECT_TRUE(reads_caches(g));
  EXPECT_EQ(count_casts(g), 0);
  check_calls(g);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
