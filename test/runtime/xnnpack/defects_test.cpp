// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What the pinned XNNPACK computes wrongly, as later versions of it show: third-party/xnnpack-fixes.md lists all.

#include <algorithm>

#include <gtest/gtest.h>
#include <runtime/execute/executable.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::UnaryKind;

// The one output of a graph of one input for `x`.
std::vector<float> compute(const GraphDef& g, const std::vector<float>& x, Executable::Settings settings = {}) {
  EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const std::vector<uint8_t> bytes = g.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  EXPECT_TRUE(blob.ok()) << blob.status().message();
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr, settings);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  ArgumentSize size;
  for (const int64_t dim : g.values[g.inputs[0].value].dims) {
    size.shape.append(static_cast<size_t>(dim));
  }
  EXPECT_EQ(size.shape.numel(), x.size());
  Status status = (*executable)->reshape({&size, 1}, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<float> y((*executable)->output_type(0).shape.numel());
  const void* input = x.data();
  void* output = y.data();
  status = (*executable)->run({&input, 1}, {&output, 1});
  EXPECT_TRUE(status.ok()) << status.message();
  return y;
}

// A window along one axis.
struct Taps {
  int64_t kernel, dilation, before, after;

  int64_t count(int64_t size) const {
    return size + before + after - (kernel - 1) * dilation;
  }
};

// The positions in an image of `size` that the window has at position i.
std::vector<int64_t> inside(const Taps& taps, int64_t size, int64_t i) {
  std::vector<int64_t> result;
  for (int64_t k = 0; k < taps.kernel; ++k) {
    const int64_t at = i - taps.before + k * taps.dilation;
    if (at >= 0 && at < size) {
      result.push_back(at);
    }
  }
  return result;
}

void check_quantized_max_pool(DType dtype, int64_t height, int64_t width, const Taps& rows, const Taps& columns) {
  SCOPED_TRACE(
      ::testing::Message() << name_of(dtype) << ", " << height << " x " << width << ", kernel " << rows.kernel << " x "
                           << columns.kernel << ", dilation " << rows.dilation << " x " << columns.dilation);
  constexpr float kScale = 0.5f;
  const bool is_unsigned = dtype == DType::UInt8;
  const int32_t zero_point = is_unsigned ? 120 : 3, lowest = is_unsigned ? 0 : INT8_MIN;
  const int64_t y_height = rows.count(height), y_width = columns.count(width), channels = 3;
  GraphDef g;
  const auto copy = [&](uint32_t x, const std::vector<int64_t>& dims) {
    return g.node(unary(UnaryKind::Copy), {x}, dims);
  };
  const std::vector<int64_t> dims{1, height, width, channels}, y_dims{1, y_height, y_width, channels};
  const uint32_t x = g.quantized(copy(g.input(dims), dims), kScale, zero_point, dtype);
  const auto pool = attributes([&](flatbuffers::FlatBufferBuilder& b) {
    const auto pair = [](int64_t a, int64_t c) { return schema::Size2D(uint32_t(a), uint32_t(c)); };
    const schema::Size2D kernel = pair(rows.kernel, columns.kernel), dilation = pair(rows.dilation, columns.dilation);
    const schema::Size2D stride(1, 1);
    const schema::Padding2D padding(
        uint32_t(rows.before), uint32_t(columns.after), uint32_t(rows.after), uint32_t(columns.before));
    return schema::CreateMaxPool2d(b, &kernel, &stride, &padding, &dilation);
  });
  g.output(copy(g.quantized(g.node(pool, {x}, y_dims), kScale, zero_point, dtype), y_dims));

  std::vector<float> image(static_cast<size_t>(height * width * channels));
  for (size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<float>(i * 37 % 101) * kScale - 40;
  }
  std::vector<float> expected;
  for (int64_t i = 0; i < y_height; ++i) {
    for (int64_t j = 0; j < y_width; ++j) {
      for (int64_t c = 0; c < channels; ++c) {
        float most = static_cast<float>(lowest - zero_point) * kScale;
        for (const int64_t h : inside(rows, height, i)) {
          for (const int64_t w : inside(columns, width, j)) {
            most = std::max(most, image[static_cast<size_t>((h * width + w) * channels + c)]);
          }
        }
        expected.push_back(most);
      }
    }
  }
  EXPECT_EQ(compute(g, image), expected);
}

TEST(XnnpackDefectsTest, MaximumOfIntegersWithGapsAndABorder) {
  for (const int64_t size : {1, 2, 3, 4, 7}) {
    for (const int64_t kernel : {2, 3}) {
      for (const int64_t dilation : {1, 2, 3, 5}) {
        for (const int64_t border : {0, 1, 2}) {
          const Taps rows{kernel, dilation, border, border}, columns{2, 1, 1, 0};
          const bool fits = rows.count(size) > 0 && border <= (kernel - 1) * dilation;
          if (fits) {
            for (const DType dtype : {DType::Int8, DType::UInt8}) {
              check_quantized_max_pool(dtype, size, 4, rows, columns);
              check_quantized_max_pool(dtype, 4, size, columns, rows);
            }
          }
        }
      }
    }
  }
}

// Fused into what comes before, a clamp replaces other parameters of that, and two that do not overlap leave nothing.
TEST(XnnpackDefectsTest, ClampsBehindAConvolution) {
  using Range = std::pair<float, float>;
  Executable::Settings apart;
  apart.fuse_elementwise = false;
  const auto run = [&](const std::vector<Range>& ranges) {
    GraphDef g;
    const uint32_t kernel = g.constant({3, 3, 3, 2}, some_numbers(54));
    uint32_t y = g.node(conv2d({1, 1}, {1, 1, 1, 1}), {g.input({1, 4, 5, 2}), kernel}, {1, 4, 5, 3});
    for (const auto& [min, max] : ranges) {
      y = g.node(clamp(min, max), {y}, {1, 4, 5, 3});
    }
    g.output(y);
    return compute(g, some_numbers(40, 2), apart);
  };
  const Range low(-0.5f, 0.25f), high(0.5f, 0.75f);
  std::vector<float> expected = run({});
  for (float& number : expected) {
    number = std::min(std::max(number, low.first), low.second);
  }
  EXPECT_EQ(run({low}), expected);
  EXPECT_EQ(run({low, high}), std::vector<float>(expected.size(), high.first));
}

// Some microkernels add two products of 8-bit numbers in 16 bits, where twice -128 * -128 does not fit.
TEST(XnnpackDefectsTest, ProductsOfTheLeastIntegers) {
  constexpr int64_t kColumns = 20;
  for (const int64_t depth : {8, 16, 40, 64}) {
    for (const int64_t rows : {1, 2, 3, 5}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows of " << depth);
      const auto least = [&](GraphDef& g) {
        const uint32_t weight = g.integers({kColumns, depth}, {{1.0f / 128}, {0}});
        auto& bytes = *g.values[weight].constant->data;
        std::fill(bytes.begin(), bytes.end(), uint8_t{0x80});
        return weight;
      };
      const auto sum = static_cast<float>(depth);

      GraphDef integers;
      uint32_t x = integers.node(unary(UnaryKind::Copy), {integers.input({rows, depth})}, {rows, depth});
      x = integers.quantized(x, 1.0f / 128);
      uint32_t y = integers.node(linear(), {x, least(integers)}, {rows, kColumns});
      y = integers.node(unary(UnaryKind::Copy), {integers.quantized(y, sum / 100)}, {rows, kColumns});
      integers.output(y);
      const std::vector<float> ones(static_cast<size_t>(rows * depth), -1.0f);
      for (const float number : compute(integers, ones)) {
        ASSERT_NEAR(number, sum, sum / 1000);
      }

      GraphDef rounded;
      const uint32_t weight = least(rounded);
      rounded.values[weight].quantization.reset();
      const uint32_t scale = rounded.constant({kColumns, 1}, std::vector<float>(kColumns, 1.0f / 128));
      x = rounded.input({rows, depth});
      rounded.output(rounded.node(quantized_linear(8, true), {x, weight, scale}, {rows, kColumns}));
      for (const float number : compute(rounded, ones)) {
        ASSERT_NEAR(number, sum, sum / 100);
      }
    }
  }
}

// x [1, 4] through a linear layer in float16 that makes `columns` of it.
GraphDef float16_linear(int64_t columns, const std::vector<float>& weight, uint32_t* y) {
  GraphDef g;
  const uint32_t x = g.input({1, 4});
  *y = g.node(linear(), {x, g.constant({columns, 4}, weight)}, {1, columns});
  return g;
}

Executable::Settings in_float16() {
  Executable::Settings settings;
  settings.force_fp16 = true;
  return settings;
}

// XNNPACK sums up a row in float16, or keeps the sum in it.
TEST(XnnpackDefectsTest, SoftmaxOfALongRowInFloat16) { // Robustness: I4
  constexpr int64_t kColumns = 70000;
  uint32_t y = 0;
  GraphDef g = float16_linear(kColumns, std::vector<float>(kColumns * 4, 0.25f), &y);
  g.output(g.node(softmax(1), {y}, {1, kColumns}));
  for (const float part : compute(g, {1, 2, 3, 4}, in_float16())) {
    ASSERT_NEAR(part, 1.0f / kColumns, 1e-7f);
  }
}

// More columns than a vector of float16 has: some versions put the second half of a tile in the wrong place.
TEST(XnnpackDefectsTest, ProductOfManyColumnsInFloat16) {
  for (const int64_t columns : {31, 32, 33, 63, 64, 65, 100, 128, 200}) {
    std::vector<float> weight(static_cast<size_t>(columns) * 4);
    for (size_t i = 0; i < weight.size(); ++i) {
      weight[i] = static_cast<float>(i % 61);
    }
    uint32_t y = 0;
    GraphDef g = float16_linear(columns, weight, &y);
    g.output(y);
    const std::vector<float> result = compute(g, {1, 2, 3, 4}, in_float16());
    for (size_t i = 0; i < result.size(); ++i) {
      const float* w = &weight[i * 4];
      EXPECT_EQ(result[i], w[0] + 2 * w[1] + 3 * w[2] + 4 * w[3]) << "column " << i << " of " << columns;
    }
  }
}

// Slopes for a remainder of less than a vector.
TEST(XnnpackDefectsTest, PreluOfAnyLengthInFloat16) {
  for (int64_t columns = 1; columns < 70; ++columns) {
    for (const bool one_slope : {true, false}) {
      uint32_t y = 0;
      GraphDef g = float16_linear(columns, std::vector<float>(static_cast<size_t>(columns) * 4, -0.5f), &y);
      const uint32_t slope = one_slope ? g.constant({1}, {0.25f})
                                       : g.constant({columns}, std::vector<float>(static_cast<size_t>(columns), 0.25f));
      g.output(g.node(binary(schema::BinaryKind::Prelu), {y, slope}, {1, columns}));
      EXPECT_EQ(compute(g, {1, 2, 3, 4}, in_float16()), std::vector<float>(static_cast<size_t>(columns), -1.25f))
          << columns;
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
