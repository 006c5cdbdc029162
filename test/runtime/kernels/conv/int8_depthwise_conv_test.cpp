// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/int8_depthwise_conv.h>

#include "int8_conv_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Case {
  Shape input; // [N, H, W, C]
  size_t rows, columns; // of the window
  Int8ConvParameters::Axis height, width; // as much padding behind the image as before
};

void check(const Case& c, bool by_channel = true, bool has_bias = true) {
  const size_t channels = c.input[3];
  const auto size = [](size_t input, size_t kernel, const Int8ConvParameters::Axis& axis) {
    return (input + 2 * axis.padding - kernel) / axis.stride + 1;
  };
  const std::vector<float> scale = some_scales(by_channel ? channels : 1);
  Int8ConvParameters p;
  p.input = c.input;
  p.weight = {channels, c.rows, c.columns, 1};
  p.output = {c.input[0], size(c.input[1], c.rows, c.height), size(c.input[2], c.columns, c.width), channels};
  p.height = c.height;
  p.width = c.width;
  set_quantization(p, scale);
  check_int8_conv<Int8DepthwiseConv>(p, has_bias);
}

TEST(Int8DepthwiseConv, Windows) { // input, window, stride and padding of height and of width
  check({{2, 9, 11, 64}, 3, 3, {1, 1}, {1, 1}});
  check({{1, 12, 13, 64}, 3, 3, {2, 1}, {2, 1}});
  check({{1, 9, 10, 64}, 5, 5, {1, 2}, {1, 2}});
  check({{1, 12, 17, 64}, 5, 5, {2, 2}, {2, 2}});
  check({{1, 9, 8, 32}, 4, 3, {3, 0}, {1, 0}});
  check({{1, 12, 8, 32}, 8, 5, {1, 3}, {2, 1}});
  check({{1, 9, 8, 32}, 3, 5, {1, 0}, {1, 4}});
}

TEST(Int8DepthwiseConv, Channels) {
  for (const size_t channels : {1u, 15u, 16u, 17u, 40u, 96u, 113u, 144u, 255u}) {
    check({{1, 5, 6, channels}, 3, 3, {1, 1}, {1, 1}});
  }
  check({{1, 5, 6, 100}, 5, 5, {1, 2}, {1, 2}}, /*by_channel=*/false, /*has_bias=*/false);
}

TEST(Int8DepthwiseConv, SmallImages) {
  check({{3, 1, 1, 72}, 3, 3, {1, 1}, {1, 1}});
  check({{1, 2, 3, 72}, 3, 3, {2, 1}, {2, 1}});
  check({{1, 3, 2, 20}, 5, 5, {1, 2}, {1, 2}});
  check({{1, 1, 1, 20}, 3, 3, {1, 3}, {1, 3}}); // windows beside the image
}

TEST(Int8DepthwiseConv, SumsAtBothEndsOfTheRange) {
  Int8ConvParameters p;
  p.input = p.output = {1, 4, 4, 16};
  p.weight = {16, 3, 3, 1};
  p.height = p.width = {1, 1};
  check_ends_of_range<Int8DepthwiseConv>(p);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
