// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/int8_block_conv.h>

#include "int8_conv_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Window {
  size_t kernel = 1, stride = 1, padding = 0, padding_behind = 0;

  size_t output(size_t input) const {
    return (input + padding + padding_behind - kernel) / stride + 1;
  }
};

struct Case {
  Shape input;
  size_t channels;
  Window height, width;
  bool by_channel = true, has_bias = true;
};

void check(const Case& c) {
  Int8ConvParameters p;
  p.input = c.input;
  p.weight = {c.channels, c.height.kernel, c.width.kernel, c.input[3]};
  p.output = {c.input[0], c.height.output(c.input[1]), c.width.output(c.input[2]), c.channels};
  p.height = {c.height.stride, c.height.padding};
  p.width = {c.width.stride, c.width.padding};
  const std::vector<float> scale = some_scales(c.by_channel ? c.channels : 1);
  set_quantization(p, scale);
  check_int8_conv<Int8BlockConv>(p, c.has_bias);
}

void check(const Shape& input, size_t channels, const Window& window) {
  check({input, channels, window, window});
}

constexpr Window kPixel, k3x3{3, 1, 1, 1};

TEST(Int8BlockConv, Channels) { // panels of 64, 32 and 16, all or in part
  for (const size_t channels : {1u, 15u, 16u, 17u, 24u, 32u, 33u, 48u, 49u, 63u, 64u, 65u, 80u, 96u, 128u, 255u}) {
    check({1, 5, 6, 24}, channels, kPixel); // shallow
    check({1, 3, 4, 70}, channels, k3x3); // deep
  }
}

TEST(Int8BlockConv, Depth) { // whole quads or not
  for (const size_t depth : {1u, 2u, 3u, 4u, 5u, 12u, 17u, 100u, 255u, 257u, 516u}) {
    check({1, 4, 7, depth}, 40, kPixel);
    check({1, 4, 5, depth}, 35, k3x3);
  }
}

TEST(Int8BlockConv, Pixels) { // tiles of 12 and 6, parts of them
  for (const size_t width : {1u, 2u, 3u, 5u, 6u, 7u, 9u, 11u, 12u, 13u, 23u, 24u, 25u, 49u, 119u, 240u, 241u, 500u}) {
    check({1, 1, width, 16}, 35, kPixel);
    check({1, 2, width, 260}, 20, kPixel);
  }
  for (const size_t width : {1u, 2u, 7u, 40u, 121u, 241u, 490u}) {
    check({1, 5, width, 8}, 35, k3x3);
  }
  check({3, 9, 11, 20}, 70, kPixel);
  check({3, 9, 11, 20}, 70, k3x3);
  check({2, 70, 9, 12}, 33, k3x3);
}

TEST(Int8BlockConv, Windows) {
  for (const size_t kernel : {1u, 2u, 3u, 5u, 7u}) {
    for (const size_t stride : {1u, 2u, 3u}) {
      for (size_t padding = 0; padding < kernel; ++padding) {
        check({2, 9, 10, 5}, 19, {kernel, stride, padding, kernel - 1 - padding});
      }
    }
  }
  check({{1, 8, 9, 6}, 20, {1, 2}, {3, 1, 1, 1}});
  check({{1, 8, 9, 6}, 20, {3, 1, 0, 2}, {1, 3}});
  check({{1, 12, 12, 3}, 40, {4, 4}, {4, 4}});
  check({{1, 1, 1, 8}, 20, {7, 1, 3, 3}, {7, 1, 3, 3}});
  check({{1, 2, 3, 8}, 20, {2, 1, 5, 6}, {2, 1, 7, 4}}); // windows that see nothing of the image
}

TEST(Int8BlockConv, LargeWeights) { // of which panels are fetched
  check({1, 7, 7, 300}, 300, k3x3);
  check({1, 2, 3, 1200}, 600, kPixel);
}

TEST(Int8BlockConv, ImagesThatExceedTheCaches) {
  check({1, 3, 300, 1500}, 17, {3, 2, 1, 1});
  check({1, 300, 2, 2200}, 17, k3x3);
}

TEST(Int8BlockConv, OneScaleAndNoBias) {
  check({{1, 5, 6, 64}, 100, kPixel, kPixel, /*by_channel=*/false, /*has_bias=*/false});
  check({{1, 5, 6, 64}, 100, k3x3, k3x3, /*by_channel=*/false, /*has_bias=*/false});
}

TEST(Int8BlockConv, SumsAtBothEndsOfTheRange) {
  Int8ConvParameters p;
  p.input = {1, 5, 6, 256};
  p.output = {1, 3, 4, 40};
  p.weight = {40, 3, 3, 256};
  check_ends_of_range<Int8BlockConv>(p);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
