// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Weights of convolutions as third-party/xnnpack_packing.c packs them, seen by what XNNPACK computes with them.

#include <runtime/execute/executable.h>
#include <runtime/xnnpack/operator.h>
#include <runtime/xnnpack/versions.h>

#include <malloc.h>

#include <limits>

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

TEST_P(ConvolutionPackingTest, EachWeightMeetsItsChannel) { // Robustness: I2
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

// Memory that is allocated meanwhile is not zero. The sanitizers, which do not let it be chosen, fill it as well.
class DirtyMemory {
 public:
  DirtyMemory() {
    mallopt(M_PERTURB, 0x5A);
  }
  ~DirtyMemory() {
    mallopt(M_PERTURB, 0);
  }
};

// XNNPACK clears the memory that a weights cache gives it, and no other.
TEST(ConvolutionPacking, ThereIsNothingInThePlaceOfABias) {
  constexpr size_t kChannels = 2, kOutputs = 7, kPixels = 6;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const DirtyMemory dirty;
  const std::vector<float> ones(kOutputs * kChannels + 64, 1.0f);
  StatusOr<OperatorPtr> op = create_operator("xnn_create_convolution2d_nhwc_f32", [&](xnn_operator_t* created) {
    return create_with_weights(
        xnn_create_convolution2d_nhwc_f32,
        nullptr,
        created,
        0u,
        0u,
        0u,
        0u, // padding
        1u,
        1u, // kernel
        1u,
        1u, // stride
        1u,
        1u, // dilation
        1u, // groups
        kChannels,
        kOutputs,
        kChannels,
        kOutputs,
        ones.data(),
        Address(nullptr),
        -kInfinity,
        kInfinity,
        0u);
  });
  ASSERT_TRUE(op.ok()) << op.status().message();
  size_t workspace = 0, height = 0, width = 0;
  ASSERT_EQ(
      reshape_with_workspace(
          xnn_reshape_convolution2d_nhwc_f32,
          std::make_tuple(op->get(), size_t{1}, size_t{1}, kPixels),
          &workspace,
          std::make_tuple(&height, &width, pthreadpool_t{})),
      xnn_status_success);
  StatusOr<Buffer> memory = Buffer::allocate(workspace);
  ASSERT_TRUE(memory.ok());
  std::vector<float> y(kPixels * kOutputs);
  ASSERT_EQ(
      setup_with_workspace(
          xnn_setup_convolution2d_nhwc_f32,
          std::make_tuple(op->get()),
          memory->data(),
          std::make_tuple(Address(ones.data()), Address(y.data()))),
      xnn_status_success);
  ASSERT_EQ(xnn_run_operator(op->get(), nullptr), xnn_status_success);
  EXPECT_EQ(y, std::vector<float>(y.size(), float{kChannels}));
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
