// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Weights of convolutions as third-party/xnnpack_packing.c packs them, seen by what XNNPACK computes with them.

#include <runtime/execute/executable.h>

#include <gtest/gtest.h>

#include "data_map.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr size_t kHeight = 3, kWidth = 2; // of the kernel and of the image, so that there is one result

struct Sizes {
  size_t groups, outputs, channels; // of a group
};

std::string name(const ::testing::TestParamInfo<Sizes>& info) {
  const auto [groups, outputs, channels] = info.param;
  return std::to_string(groups) + "x" + std::to_string(outputs) + "x" + std::to_string(channels);
}

class ConvolutionPackingTest : public ::testing::TestWithParam<Sizes> {};

TEST_P(ConvolutionPackingTest, EachWeightMeetsItsChannel) {
  const auto [groups, outputs, channels] = GetParam();
  const size_t taps = kHeight * kWidth;
  // Small integers: their sums are exact in any order.
  const auto small_integers = [](size_t count, uint32_t seed) {
    std::vector<float> numbers = some_numbers(count, seed);
    for (float& number : numbers) {
      number = static_cast<float>(static_cast<int>(number * 9));
    }
    return numbers;
  };
  const std::vector<float> w = small_integers(groups * outputs * taps * channels, 1);
  const std::vector<float> bias = small_integers(groups * outputs, 2);
  const std::vector<float> x = small_integers(taps * groups * channels, 3);
  const auto i64 = [](size_t size) { return static_cast<int64_t>(size); };

  GraphDef g;
  const uint32_t image = g.input({1, kHeight, kWidth, i64(groups * channels)});
  const uint32_t kernel = g.named({i64(groups * outputs), kHeight, kWidth, i64(channels)}, "w");
  const uint32_t b = g.named({i64(groups * outputs)}, "b");
  const schema::Padding2D none(0, 0, 0, 0);
  g.output(g.node(
      conv2d({1, 1}, none, {1, 1}, static_cast<uint32_t>(groups)),
      {image, kernel, b},
      {1, 1, 1, i64(groups * outputs)}));
  DataMap data; // which ends at an unmapped page
  data.add("w", w);
  data.add("b", bias);
  const std::vector<uint8_t> bytes = g.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), &data);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const ArgumentSize size{Shape{1, kHeight, kWidth, groups * channels}, 0};
  ASSERT_TRUE((*executable)->reshape({&size, 1}, nullptr).ok());
  std::vector<float> y(groups * outputs);
  const void* in = x.data();
  void* out = y.data();
  ASSERT_TRUE((*executable)->run({&in, 1}, {&out, 1}).ok());

  std::vector<float> expected = bias;
  for (size_t n = 0; n < expected.size(); ++n) {
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t c = 0; c < channels; ++c) {
        expected[n] += w[(n * taps + tap) * channels + c] * x[(tap * groups + n / outputs) * channels + c];
      }
    }
  }
  EXPECT_EQ(y, expected);
}

// Around the widths of tiles, of vectors, and of what XNNPACK transposes at once.
INSTANTIATE_TEST_SUITE_P(
    Sizes,
    ConvolutionPackingTest,
    ::testing::Values(
        Sizes{1, 1, 3},
        Sizes{1, 5, 16},
        Sizes{1, 16, 15},
        Sizes{1, 31, 17},
        Sizes{1, 32, 32},
        Sizes{1, 33, 48},
        Sizes{1, 40, 63},
        Sizes{1, 64, 64},
        Sizes{1, 96, 100},
        Sizes{2, 24, 33},
        Sizes{3, 33, 16},
        Sizes{5, 2, 40}),
    name);

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
