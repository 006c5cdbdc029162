// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Kernels that run single operators of XNNPACK, against the whole: for sizes that grow and shrink, other pools, weights
// that are shared and in files.

#include <cstdio>
#include <ostream>
#include <random>

#include <gtest/gtest.h>
#include <runtime/execute/executable.h>

#include "data_map.h"
#include "graph_def.h"
#include "kernel_graph.h"
#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;
using Flat = flatbuffers::FlatBufferBuilder;

const schema::Size2D kOne(1, 1), kThree(3, 3);
const schema::Padding2D kBorder(1, 1, 1, 1), kNoBorder(0, 0, 0, 0);

// A batch of images of any size with this many channels, in Float32.
struct Images {
  explicit Images(GraphDef& g, int64_t channels) : c(channels) {
    n = g.ranged(DimOp::InputDim, 0, 0, 1, 4, 3);
    h = g.ranged(DimOp::InputDim, 0, 1, 5, 12, 7);
    w = g.ranged(DimOp::InputDim, 0, 2, 5, 9, 6);
    x = g.input(dims(c));
  }
  std::vector<int64_t> dims(int64_t channels) const {
    return {n, h, w, channels};
  }

  int64_t n, h, w, c;
  uint32_t x;
};

// A value in Int8.
uint32_t quantized(
    GraphDef& g, uint32_t x, const std::vector<int64_t>& dims, float scale = 0.02f, int32_t zero_point = 3) {
  return g.quantized(g.node(unary(UnaryKind::Copy), {x}, dims), scale, zero_point);
}

void output_float(GraphDef& g, uint32_t x, const std::vector<int64_t>& dims) {
  g.output(g.node(unary(UnaryKind::Copy), {x}, dims));
}

QuantizationDef weight_scales(size_t count) {
  QuantizationDef result;
  for (size_t i = 0; i < count; ++i) {
    result.scale.push_back(0.01f * static_cast<float>(1 + i % 3));
    result.zero_point.push_back(0);
  }
  return result;
}

QuantizationDef bias_scales(QuantizationDef weight, float x_scale) {
  for (float& scale : weight.scale) {
    scale *= x_scale;
  }
  return weight;
}

// Windows, single pixels and channels by themselves, with a clamp or bias or none.
GraphDef float_convs() {
  GraphDef g;
  const Images images(g, 4);
  const schema::Clamp clamp(-0.5f, 6);
  const auto clamped = attributes([=](Flat& f) { return schema::CreateConv2d(f, &kOne, &kBorder, &kOne, 1, &clamp); });
  const uint32_t w = g.constant({6, 3, 3, 4}, some_numbers(6 * 9 * 4)), b = g.constant({6}, some_numbers(6, 2));
  uint32_t x = g.node(clamped, {images.x, w, b}, images.dims(6));
  x = g.node(conv2d(), {x, g.constant({19, 1, 1, 6}, some_numbers(19 * 6))}, images.dims(19));
  const uint32_t each = g.constant({19, 3, 3, 1}, some_numbers(19 * 9));
  x = g.node(conv2d(kOne, {2, 2, 2, 2}, {2, 2}, 19), {x, each}, images.dims(19));
  g.output(x);
  const uint32_t up = g.constant({17, 3, 3, 19}, some_numbers(17 * 9 * 19));
  g.output(g.node(conv_transpose2d(kOne, kBorder), {x, up}, images.dims(17)));
  const uint32_t grouped = g.constant({8, 3, 3, 2}, some_numbers(8 * 9 * 2));
  g.output(g.node(conv2d(kOne, kBorder, kOne, 2), {images.x, grouped}, images.dims(8)));
  return g;
}

// All formats of integers, one after the other.
GraphDef integer_convs(bool by_channel) {
  GraphDef g;
  const Images images(g, 4);
  const auto scales = [=](int64_t count) { return weight_scales(by_channel ? static_cast<size_t>(count) : 1); };
  float scale = 0.02f;
  uint32_t x = quantized(g, images.x, images.dims(4), scale);
  const auto add = [&](AttributesDef conv, std::vector<int64_t> w, int64_t out) {
    const uint32_t weight = g.integers(w, scales(out));
    const uint32_t bias = g.integers({out}, bias_scales(scales(out), scale), DType::Int32);
    x = g.quantized(g.node(std::move(conv), {x, weight, bias}, images.dims(out)), 0.05f, -7);
    scale = 0.05f;
  };
  add(conv2d(kOne, kBorder), {6, 3, 3, 4}, 6);
  add(conv2d(), {8, 1, 1, 6}, 8);
  // With a dilation, without which a kernel of ours would compute it on some CPUs.
  add(conv2d(kOne, {2, 2, 2, 2}, {2, 2}, 8), {8, 3, 3, 1}, 8);
  add(conv2d(kOne, kBorder, kOne, 2), {6, 3, 3, 4}, 6);
  add(conv_transpose2d(kOne, kBorder), {5, 3, 3, 6}, 5);
  add(conv2d(kOne, kBorder), {16, 3, 3, 5}, 16); // so many of so few channels that the width is unfolded
  output_float(g, x, images.dims(16));
  return g;
}

// Images that XNNPACK rounds itself, one by one.
GraphDef dynamically_quantized_images() {
  GraphDef g;
  const Images images(g, 4);
  const auto conv = attributes([=](Flat& f) {
    return schema::CreateConv2d(f, &kOne, &kBorder, &kOne, 1, nullptr, /*dynamic_quantization=*/true);
  });
  const auto point = attributes([=](Flat& f) {
    return schema::CreateConv2d(f, &kOne, &kNoBorder, &kOne, 1, nullptr, /*dynamic_quantization=*/true);
  });
  const auto transposed = attributes([=](Flat& f) {
    const schema::Size2D none(0, 0);
    return schema::CreateConvTranspose2d(f, &kOne, &kBorder, &none, &kOne, 1, nullptr, /*dynamic_quantization=*/true);
  });
  uint32_t x = g.node(conv, {images.x, g.integers({4, 3, 3, 4}, weight_scales(4))}, images.dims(4));
  x = g.node(point, {x, g.integers({6, 1, 1, 4}, weight_scales(6))}, images.dims(6));
  g.output(g.node(transposed, {x, g.integers({4, 3, 3, 6}, weight_scales(4))}, images.dims(4)));
  return g;
}

// Images with any number of channels, pooled.
GraphDef pools() {
  GraphDef g;
  const int64_t channels = g.ranged(DimOp::InputDim, 0, 3, 1, 40, 40);
  const Images images(g, channels);
  const std::vector<int64_t> dims = images.dims(channels);
  const uint32_t q = quantized(g, images.x, dims);
  output_float(g, g.quantized(g.node(max_pool2d(kThree, kOne, kBorder), {q}, dims), 0.02f, 3), dims);
  const auto counted =
      attributes([](Flat& f) { return schema::CreateAvgPool2d(f, &kThree, &kOne, &kBorder, &kBorder); });
  const uint32_t mean = g.node(counted, {images.x}, dims);
  g.output(mean);
  const uint32_t other = g.node(avg_pool2d(kThree, kOne, kBorder), {mean}, dims);
  g.output(other);
  g.output(g.node(adaptive_pool2d(schema::AdaptivePoolKind::Average, kOne), {other}, {images.n, 1, 1, channels}));
  return g;
}

uint32_t some_bytes(GraphDef& g, const std::vector<int64_t>& dims, DType dtype) {
  const uint32_t id = g.value(dims, dtype);
  std::vector<uint8_t> data(static_cast<size_t>(dims[0] * dims[1]));
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<uint8_t>(i * 37);
  }
  g.values[id].constant = ConstantDef{std::nullopt, data};
  return id;
}

GraphDef products() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 40, 27);
  const uint32_t x = g.input({rows, 64});
  const uint32_t w = g.constant({20, 64}, some_numbers(20 * 64));
  const uint32_t b = g.constant({20}, some_numbers(20, 2));
  g.output(g.node(linear(schema::Clamp(-1, 2)), {x, w, b}, {rows, 20}));
  // A weight that is computed.
  const uint32_t computed = g.node(unary(UnaryKind::Neg), {w}, {20, 64});
  g.output(g.node(linear(), {x, computed, b}, {rows, 20}));
  g.output(g.node(linear(), {x, computed}, {rows, 20}));
  // Integers.
  const uint32_t q = quantized(g, x, {rows, 64});
  for (const size_t count : {size_t{1}, size_t{20}}) {
    const QuantizationDef scales = weight_scales(count);
    const uint32_t weight = g.integers({20, 64}, scales);
    const uint32_t bias = g.integers({20}, bias_scales(scales, 0.02f), DType::Int32);
    output_float(g, g.quantized(g.node(linear(), {q, weight, bias}, {rows, 20}), 0.05f, -7), {rows, 20});
  }
  // Matrices.
  const uint32_t matrix = g.constant({64, 9}, some_numbers(64 * 9));
  g.output(g.node(batch_matmul(), {x, matrix}, {rows, 9}));
  g.output(g.node(batch_matmul(true), {x, computed}, {rows, 20}));
  return g;
}

GraphDef quantized_products() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 40, 7);
  const uint32_t x = g.input({rows, 64});
  const uint32_t eight = some_bytes(g, {20, 64}, DType::Int8), four = some_bytes(g, {20, 32}, DType::UInt8);
  const uint32_t scale = g.constant({20, 1}, std::vector<float>(20, 0.02f));
  const uint32_t scales = g.constant({20, 2}, std::vector<float>(40, 0.03f));
  const uint32_t bias = g.constant({20}, some_numbers(20));
  const schema::Clamp clamp(-0.5f, 1.5f);
  const auto product = [&](uint8_t bits, bool dynamic, bool clamps) {
    return attributes(
        [=](Flat& f) { return schema::CreateQuantizedLinear(f, bits, dynamic, clamps ? &clamp : nullptr); });
  };
  for (const bool dynamic : {true, false}) {
    for (const bool clamps : {true, false}) {
      g.output(g.node(product(8, dynamic, clamps), {x, eight, scale, bias}, {rows, 20}));
      g.output(g.node(product(4, dynamic, clamps), {x, four, scale, bias}, {rows, 20}));
    }
    g.output(g.node(product(8, dynamic, true), {x, eight, scale}, {rows, 20}));
  }
  g.output(g.node(product(4, true, true), {x, four, scales, bias}, {rows, 20}));
  return g;
}

GraphDef elementwise() {
  GraphDef g;
  const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 2);
  const uint32_t x = g.input({n, 3, 8});
  const std::vector<int64_t> dims{n, 3, 8};
  for (const UnaryKind kind : schema::EnumValuesUnaryKind()) {
    if (kind != UnaryKind::Clamp) {
      g.output(g.node(unary(kind, 0.5f), {x}, dims));
    }
  }
  g.output(g.node(clamp(-0.25f, 0.5f), {x}, dims));
  const uint32_t row = g.constant({8}, some_numbers(8)), scalar = g.constant({}, {0.75f});
  const uint32_t other = g.node(unary(UnaryKind::Abs), {x}, dims);
  const schema::Clamp limits(-0.1f, 0.3f);
  for (const BinaryKind kind :
       {BinaryKind::Add,
        BinaryKind::Sub,
        BinaryKind::Mul,
        BinaryKind::Div,
        BinaryKind::Prelu,
        BinaryKind::SquaredDifference,
        BinaryKind::Copysign}) {
    g.output(g.node(binary(kind), {x, other}, dims));
    g.output(g.node(binary(kind), {row, x}, dims));
    g.output(g.node(attributes([=](Flat& f) { return schema::CreateBinary(f, kind, &limits); }), {x, scalar}, dims));
  }
  const uint32_t a = quantized(g, x, dims), b = quantized(g, other, dims, 0.03f, -2);
  for (const BinaryKind kind : {BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul}) {
    output_float(g, g.quantized(g.node(binary(kind), {a, b}, dims), 0.05f, 1), dims);
  }
  return g;
}

GraphDef moves() {
  GraphDef g;
  const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 4);
  const uint32_t x = g.input({n, 12, 40});
  const uint32_t constant = g.constant({1, 12, 40}, some_numbers(12 * 40));
  g.output(g.node(softmax(2), {x}, {n, 12, 40}));
  g.output(g.node(concat(1), {x, x, x}, {n, 36, 40}));
  const int64_t one_more = g.expr(DimOp::Add, -1 - n, -1 - g.expr(DimOp::Const, 1));
  g.output(g.node(concat(0), {constant, x}, {one_more, 12, 40}));
  g.output(g.node(slice(1, 3, 5), {x}, {n, 5, 40}));
  const uint32_t q = quantized(g, x, {n, 12, 40});
  const auto same = [&](uint32_t id) { return g.quantized(id, 0.02f, 3); };
  output_float(g, same(g.node(concat(1), {q, q}, {n, 24, 40})), {n, 24, 40});
  output_float(g, same(g.node(slice(2, 1, 7), {q}, {n, 12, 7})), {n, 12, 7});
  return g;
}

struct Named {
  const char* name;
  GraphDef def;
  size_t num_in_xnnpack; // nodes
};

void PrintTo(const Named& graph, std::ostream* stream) {
  *stream << graph.name;
}

std::vector<Named> graphs() {
  return {
      {"float_convs", float_convs(), 5},
      {"convs_of_one_scale", integer_convs(false), 6},
      {"convs_by_channel", integer_convs(true), 6},
      {"dynamically_quantized_images", dynamically_quantized_images(), 3},
      {"pools", pools(), 4},
      {"products", products(), 8},
      {"quantized_products", quantized_products(), 6},
      {"elementwise", elementwise(), 40},
      {"moves", moves(), 5},
  };
}

class XnnpackKernels : public ::testing::TestWithParam<Named> {
 protected:
  XnnpackKernels() : bytes_(GetParam().def.build()) {}

  Blob open() const {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    StatusOr<Blob> blob = open_blob(span(bytes_));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    return std::move(*blob);
  }

  // Sizes of the one input, those that the graph is planned for without `random`.
  ArgumentSize size(std::mt19937* random) const {
    const Blob blob = open();
    StatusOr<Sizes> planned = planned_sizes(blob.graph());
    ArgumentSize result;
    result.shape = *planned->resolve(blob.value(blob.graph().inputs()->Get(0)->value()).dims());
    for (const schema::DimRange* range : *blob.graph().ranges()) {
      const auto span = static_cast<uint64_t>(range->max() - range->min() + 1);
      if (random != nullptr) {
        const auto axis = static_cast<size_t>(blob.graph().exprs()->Get(range->expr())->b());
        result.shape[axis] = static_cast<size_t>(range->min()) + (*random)() % span;
      }
    }
    return result;
  }

  using Outputs = std::vector<std::vector<uint8_t>>;

  static Outputs run(KernelGraph& graph, size_t count, const ArgumentSize& size, pthreadpool_t pool, uint32_t seed) {
    const std::vector<float> x = some_numbers(size.shape.numel(), seed);
    const void* inputs[] = {x.data()};
    Status status = graph.reshape({&size, 1}, pool);
    EXPECT_TRUE(status.ok()) << status.message();
    status = graph.run({inputs, 1});
    EXPECT_TRUE(status.ok()) << status.message();
    Outputs outputs;
    for (size_t i = 0; i < count; ++i) {
      outputs.push_back(graph.output(i));
    }
    return outputs;
  }

  // By a new Executable.
  Outputs expected(const ArgumentSize& size, uint32_t seed) const {
    Executable::Settings settings;
    settings.fuse_elementwise = false;
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(open(), nullptr, settings);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    const std::vector<float> x = some_numbers(size.shape.numel(), seed);
    const void* inputs[] = {x.data()};
    Status status = (*executable)->reshape({&size, 1}, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    Outputs outputs;
    std::vector<void*> data;
    for (size_t i = 0; i < (*executable)->blob().num_outputs(); ++i) {
      outputs.emplace_back((*executable)->output_type(i).bytes());
    }
    for (std::vector<uint8_t>& output : outputs) {
      data.push_back(output.data());
    }
    status = (*executable)->run({inputs, 1}, {data.data(), data.size()});
    EXPECT_TRUE(status.ok()) << status.message();
    return outputs;
  }

  size_t num_outputs() const {
    return GetParam().def.outputs.size();
  }

  std::vector<uint8_t> bytes_;
};

TEST_P(XnnpackKernels, GiveWhatTheWholeGives) {
  KernelGraph graph(open(), nullptr);
  if (is_xnnpack_of_executorch()) { // others are our kernels
    EXPECT_LE(graph.num_in_xnnpack(), GetParam().num_in_xnnpack);
    EXPECT_GT(graph.num_in_xnnpack(), 0);
  } else {
    EXPECT_EQ(graph.num_in_xnnpack(), GetParam().num_in_xnnpack);
  }
  const ArgumentSize planned = size(nullptr);
  EXPECT_EQ(run(graph, num_outputs(), planned, nullptr, 1), expected(planned, 1));
}

// Sizes grow and shrink, from pool to pool.
TEST_P(XnnpackKernels, ForgetEarlierSizes) {
  std::mt19937 random(3);
  KernelGraph graph(open(), nullptr);
  for (uint32_t round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    const ArgumentSize other = size(&random);
    pthreadpool_t const pool = round % 4 == 0 ? nullptr : pthreadpool_create(round % 4);
    EXPECT_EQ(run(graph, num_outputs(), other, pool, round), expected(other, round));
    pthreadpool_destroy(pool);
  }
}

TEST_P(XnnpackKernels, SharePackedWeights) {
  const ArgumentSize planned = size(nullptr);
  const Outputs alone = expected(planned, 1);
  PackedWeights shared;
  {
    KernelGraph first(open(), nullptr, &shared);
    const size_t count = shared.count(), bytes = shared.bytes();
    KernelGraph second(open(), nullptr, &shared);
    EXPECT_EQ(shared.count(), count);
    EXPECT_EQ(shared.bytes(), bytes);
    EXPECT_EQ(run(first, num_outputs(), planned, nullptr, 1), alone);
    EXPECT_EQ(run(second, num_outputs(), planned, nullptr, 1), alone);
  }
  EXPECT_EQ(shared.count(), 0u);
}

TEST_P(XnnpackKernels, FindPackedWeightsInAFile) {
  const ArgumentSize planned = size(nullptr);
  const Outputs alone = expected(planned, 1);
  const std::string path = ::testing::TempDir() + "/xnnpack_kernels_" + GetParam().name;
  std::remove(path.c_str());
  for (int load = 0; load < 2; ++load) {
    SCOPED_TRACE(load);
    PackedFile file(path);
    PackedWeights shared;
    KernelGraph graph(open(), nullptr, &shared, &file);
    EXPECT_EQ(file.problem(), "");
    EXPECT_EQ(run(graph, num_outputs(), planned, nullptr, 1), alone);
  }
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Graphs, XnnpackKernels, ::testing::ValuesIn(graphs()), [](const auto& graph) {
  return std::string(graph.param.name);
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
