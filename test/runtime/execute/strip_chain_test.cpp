// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Convolutions that run in strips, as an Executable runs them; strips_test.cpp has which ones do.

#include <algorithm>
#include <cstring>

#include <runtime/kernels/conv/depthwise_row.h>
#include <runtime/kernels/simd/reduced_float.h>

#include "executable_call.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;
using Flat = flatbuffers::FlatBufferBuilder;

// How windows lie along an axis.
struct Windows {
  uint32_t kernel, stride, dilation, before, after;
};

// A convolution of each channel by itself between two of single pixels, of which either may be missing. It is planned for
// images that are too large for the second-level cache of most CPUs.
struct Chain {
  bool expands, projects;
  Windows height, width;
  // With elementwise operators behind each: in Float32, or a batch norm that is rounded as in programs of 16 bits.
  bool has_tails = false;
  DType type = DType::Float32;

  GraphDef graph() const {
    GraphDef g;
    const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 0, 3, 1);
    const int64_t h = g.ranged(DimOp::InputDim, 0, 1, height.kernel * height.dilation, 96, 96);
    const int64_t w = g.ranged(DimOp::InputDim, 0, 2, width.kernel * width.dilation, 48, 48);
    constexpr int64_t kFew = 11, kWide = 136;
    const schema::Size2D one(1, 1);
    const schema::Padding2D none(0, 0, 0, 0);
    const schema::Clamp limits(-0.25f, 0.75f);
    const auto pixels = [=](Flat& f) { return schema::CreateConv2d(f, &one, &none, &one, 1, &limits); };
    const auto weight = [&](const std::vector<int64_t>& dims) {
      int64_t count = 1;
      for (const int64_t dim : dims) {
        count *= dim;
      }
      const uint32_t id = g.constant(dims, some_numbers(static_cast<size_t>(count), static_cast<uint32_t>(count)));
      return dims.size() > 1 ? stored_in_16_bits(g, id) : id;
    };
    uint32_t x = g.input({n, h, w, expands ? kFew : kWide}, type);
    const std::vector<int64_t> each{n, 1, 1, projects ? kFew : kWide};
    const uint32_t other = has_tails ? in_float32(g, g.input(each, type), each) : kNone;
    x = in_float32(g, x, {n, h, w, expands ? kFew : kWide});
    if (expands) {
      const std::vector<int64_t> wide{n, h, w, kWide};
      x = g.node(attributes(pixels), {x, weight({kWide, 1, 1, kFew}), weight({kWide})}, wide);
      x = with_tail(g, x, wide);
    }
    const std::vector<int64_t> dims{n, after(g, h, height), after(g, w, width)};
    const auto conv = conv2d(
        {height.stride, width.stride},
        {height.before, width.after, height.after, width.before},
        {height.dilation, width.dilation},
        static_cast<uint32_t>(kWide));
    const std::vector<int64_t> wide{dims[0], dims[1], dims[2], kWide}, few{dims[0], dims[1], dims[2], kFew};
    x = g.node(conv, {x, weight({kWide, height.kernel, width.kernel, 1})}, wide);
    x = with_tail(g, x, wide);
    if (projects) {
      x = with_tail(g, g.node(attributes(pixels), {x, weight({kFew, 1, 1, kWide})}, few), few);
    }
    if (has_tails) { // as a block adds what it began with
      g.output(x);
      x = g.node(binary(BinaryKind::Add), {x, other}, projects ? few : wide);
    }
    g.output(x);
    return g;
  }

  // Whether some CPUs leave the convolution of each channel to XNNPACK.
  bool may_be_in_xnnpack() const {
    const bool is_large = height.kernel * width.kernel > 25;
    const Depthwise::Axis axis{0, 0, width.kernel, width.stride, 0, width.dilation};
    return !is_large && !loads_pixels_once(axis);
  }

 private:
  uint32_t stored_in_16_bits(GraphDef& g, uint32_t id) const {
    if (type == DType::Float32) {
      return id;
    }
    ConstantDef& constant = *g.values[id].constant;
    std::vector<float> numbers(constant.data->size() / sizeof(float));
    std::memcpy(numbers.data(), constant.data->data(), constant.data->size());
    constant.data->resize(numbers.size() * sizeof(uint16_t));
    narrow(type, numbers.data(), constant.data->data(), numbers.size());
    constant.storage = type == DType::BFloat16 ? schema::Storage::BFloat16 : schema::Storage::Float16;
    return id;
  }
  uint32_t in_float32(GraphDef& g, uint32_t x, const std::vector<int64_t>& dims) const {
    return type == DType::Float32 ? x : g.node(cast(DType::Float32), {x}, dims);
  }
  uint32_t rounded(GraphDef& g, uint32_t x, const std::vector<int64_t>& dims) const {
    return type == DType::Float32 ? x : in_float32(g, g.node(cast(type), {x}, dims, type), dims);
  }
  uint32_t with_tail(GraphDef& g, uint32_t x, const std::vector<int64_t>& dims) const {
    if (!has_tails) {
      return x;
    }
    const auto channels = static_cast<size_t>(dims.back());
    x = rounded(g, x, dims);
    x = g.node(binary(BinaryKind::Mul), {x, g.constant({dims.back()}, some_numbers(channels, 2))}, dims);
    x = g.node(binary(BinaryKind::Add), {x, g.constant({dims.back()}, some_numbers(channels, 3))}, dims);
    return rounded(g, g.node(clamp(-0.5f, 2), {x}, dims), dims);
  }
  // The size of an axis behind it.
  static int64_t after(GraphDef& g, int64_t size, const Windows& axis) {
    const auto add = [&](int64_t entry, int64_t number) {
      return g.expr(DimOp::Add, -1 - entry, -1 - g.expr(DimOp::Const, number));
    };
    const int64_t span = axis.dilation * (axis.kernel - 1) + 1;
    const int64_t room = add(size, int64_t{axis.before} + axis.after - span);
    return add(g.expr(DimOp::FloorDiv, -1 - room, -1 - g.expr(DimOp::Const, axis.stride)), 1);
  }
};

std::unique_ptr<Executable> load(
    const std::vector<uint8_t>& bytes, bool in_strips, bool force_bf16 = false, PackedWeights* shared = nullptr) {
  Executable::Settings settings;
  settings.fuse_elementwise = in_strips;
  settings.force_bf16 = force_bf16;
  settings.packed_weights = shared;
  return load_executable(bytes, settings);
}

const Chain kChains[] = {
    {true, true, {3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}},
    {true, true, {3, 2, 1, 1, 1}, {3, 2, 1, 1, 1}},
    {true, true, {5, 2, 1, 0, 3}, {5, 1, 1, 2, 2}},
    {true, false, {5, 1, 1, 2, 2}, {5, 2, 1, 2, 1}},
    {false, true, {3, 1, 2, 2, 2}, {3, 1, 1, 1, 1}},
    {true, true, {2, 3, 1, 0, 0}, {3, 1, 1, 0, 0}}, // rows that no window sees
    {true, true, {7, 1, 1, 6, 6}, {3, 1, 1, 1, 1}}, // windows that lie in the padding for the most part
    {false, true, {1, 1, 1, 0, 0}, {5, 1, 1, 2, 2}},
    {true, true, {7, 1, 1, 3, 3}, {7, 1, 1, 3, 3}},
};

size_t count_strips(const GraphDef& graph, bool force_bf16) {
  PlanOptions options;
  options.bfloat16 = force_bf16;
  const Plan plan = plan_of(graph, options);
  return static_cast<size_t>(std::count_if(
      plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.kind == Step::Kind::Strips; }));
}

constexpr size_t kRounds = 10; // among which there is an empty batch
constexpr size_t kFewRounds = 4; // enough where only types differ

// With 1 to 16 threads, images of the planned size and of few rows, and empty batches.
void check_chains(bool has_tails, DType type, bool force_bf16, size_t rounds) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  std::vector<pthreadpool_t> pools{nullptr};
  for (const size_t threads : {2, 3, 16}) {
    pools.push_back(pthreadpool_create(threads));
  }
  for (Chain chain : kChains) {
    chain.has_tails = has_tails;
    chain.type = type;
    SCOPED_TRACE(std::string(name_of(type)) + ", kernel " + std::to_string(chain.height.kernel));
    const GraphDef graph = chain.graph();
    const std::vector<uint8_t> bytes = graph.build();
    if (!chain.may_be_in_xnnpack()) {
      EXPECT_EQ(count_strips(graph, force_bf16), 1u);
    }
    const std::unique_ptr<Executable> together = load(bytes, true, force_bf16), alone = load(bytes, false, force_bf16);
    std::mt19937 random(5);
    bool was_empty = false;
    for (size_t round = 0; round < rounds; ++round) {
      const GraphCall call = make_call(alone->blob(), round == 0 ? nullptr : &random);
      const Results expected = run(*alone, call);
      ASSERT_TRUE(expected.status.ok()) << expected.status.message();
      was_empty = was_empty || call.sizes[0].shape[0] == 0;
      for (size_t repeat = 0; repeat < 2; ++repeat) {
        const Results actual = run(*together, call, pools[(round + repeat) % pools.size()]);
        ASSERT_TRUE(actual.status.ok()) << actual.status.message();
        EXPECT_EQ(actual.outputs, expected.outputs) << call.sizes[0].shape.to_string() << ", round " << round;
      }
    }
    EXPECT_TRUE(was_empty || rounds < kRounds);
  }
  std::for_each(pools.begin() + 1, pools.end(), pthreadpool_destroy);
}

TEST(StripChainTest, HasTheBitsOfSeparateSteps) {
  check_chains(/*has_tails=*/false, DType::Float32, /*force_bf16=*/false, kRounds);
}

TEST(StripChainTest, HasThemWithProductsOfBFloat16) {
  check_chains(/*has_tails=*/false, DType::Float32, /*force_bf16=*/true, kFewRounds);
}

TEST(StripChainTest, HasThemWithElementwiseOperators) {
  check_chains(/*has_tails=*/true, DType::Float32, /*force_bf16=*/false, kRounds);
}

TEST(StripChainTest, HasThemWithElementwiseOperatorsAndProductsOfBFloat16) {
  check_chains(/*has_tails=*/true, DType::Float32, /*force_bf16=*/true, kFewRounds);
}

TEST(StripChainTest, HasThemInBFloat16) {
  check_chains(/*has_tails=*/true, DType::BFloat16, /*force_bf16=*/false, kFewRounds);
}

TEST(StripChainTest, HasThemInFloat16) {
  check_chains(/*has_tails=*/true, DType::Float16, /*force_bf16=*/false, kFewRounds);
}

TEST(StripChainTest, SharesPackedWeights) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const std::vector<uint8_t> bytes = kChains[0].graph().build();
  PackedWeights shared;
  {
    const std::unique_ptr<Executable> first = load(bytes, true, false, &shared);
    const size_t count = shared.count();
    EXPECT_EQ(count, 3u);
    const std::unique_ptr<Executable> second = load(bytes, true, false, &shared);
    const std::unique_ptr<Executable> separate = load(bytes, false, false, &shared);
    EXPECT_EQ(shared.count(), count);
    const GraphCall call = make_call(first->blob(), nullptr);
    const Results expected = run(*first, call);
    EXPECT_EQ(run(*second, call).outputs, expected.outputs);
    EXPECT_EQ(run(*separate, call).outputs, expected.outputs);
  }
  EXPECT_EQ(shared.count(), 0u);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
