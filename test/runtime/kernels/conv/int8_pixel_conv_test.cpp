// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/int8_pixel_conv.h>

#include "int8_conv_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// An image [N, H, W, IC] to `channels` ones.
void check(const Shape& input, size_t channels, bool by_channel = true, bool has_bias = true) {
  Int8ConvParameters p;
  p.input = input;
  p.weight = {channels, 1, 1, input[3]};
  p.output = {input[0], input[1], input[2], channels};
  const std::vector<float> scale = some_scales(by_channel ? channels : 1);
  set_quantization(p, scale);
  ASSERT_TRUE(Int8PixelConv::has(p));
  check_int8_conv<Int8PixelConv>(p, has_bias);
}

TEST(Int8PixelConv, Channels) {
  for (const size_t channels : {1u, 15u, 16u, 17u, 24u, 32u, 33u, 48u, 49u, 63u, 64u, 65u, 80u, 96u, 128u, 255u}) {
    check({1, 5, 6, 24}, channels);
  }
  for (const size_t depth : {4u, 8u, 12u, 100u, 516u}) {
    check({1, 4, 7, depth}, 40);
  }
  check({1, 5, 6, 64}, 100, /*by_channel=*/false, /*has_bias=*/false);
}

TEST(Int8PixelConv, Pixels) { // tiles and blocks of them
  for (const size_t width : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 15u, 17u, 49u, 63u, 64u, 65u, 130u}) {
    check({1, 1, width, 16}, 35);
  }
  check({3, 9, 11, 20}, 70);
}

TEST(Int8PixelConv, SumsAtBothEndsOfTheRange) {
  Int8ConvParameters p;
  p.input = {1, 2, 3, 256};
  p.output = {1, 2, 3, 40};
  p.weight = {40, 1, 1, 256};
  check_ends_of_range<Int8PixelConv>(p);
}

TEST(Int8PixelConv, TakesPixelsByThemselvesOnly) {
  Int8ConvParameters p;
  p.input = p.output = {1, 4, 4, 16};
  p.weight = {16, 1, 1, 16};
  EXPECT_TRUE(Int8PixelConv::has(p));
  const auto has = [p](const auto& change) {
    Int8ConvParameters changed = p;
    change(changed);
    return Int8PixelConv::has(changed);
  };
  EXPECT_FALSE(has([](Int8ConvParameters& q) { q.weight = {16, 1, 1, 8}; })) << "two groups";
  EXPECT_FALSE(has([](Int8ConvParameters& q) { q.weight = {16, 1, 3, 16}; }));
  EXPECT_FALSE(has([](Int8ConvParameters& q) { q.input = q.output = {1, 4, 4, 18}, q.weight = {16, 1, 1, 18}; }));
  EXPECT_FALSE(has([](Int8ConvParameters& q) { q.width.stride = 2, q.output = {1, 4, 2, 16}; }));
  EXPECT_FALSE(has([](Int8ConvParameters& q) { q.height.padding = 1, q.output = {1, 6, 4, 16}; }));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
