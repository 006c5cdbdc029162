// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/int8_grouped_conv.h>

#include "int8_conv_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Case {
  Shape input;
  size_t group;
  size_t rows = 3, stride = 1, padding = 1;
  bool by_channel = true, has_bias = true;
};

Int8ConvParameters parameters(const Case& c) {
  const auto output = [&](size_t size, size_t kernel) { return (size + 2 * c.padding - kernel) / c.stride + 1; };
  const size_t channels = c.input[3];
  Int8ConvParameters p;
  p.input = c.input;
  p.weight = {channels, c.rows, 3, c.group};
  p.output = {c.input[0], output(c.input[1], c.rows), output(c.input[2], 3), channels};
  p.height = p.width = {c.stride, c.padding};
  return p;
}

void check(const Case& c) {
  Int8ConvParameters p = parameters(c);
  const std::vector<float> scale = some_scales(c.by_channel ? c.input[3] : 1);
  set_quantization(p, scale);
  ASSERT_TRUE(Int8GroupedConv::has(p));
  check_int8_conv<Int8GroupedConv>(p, c.has_bias);
}

TEST(Int8GroupedConv, Groups) { // panels of 64 channels, all or in part
  for (const size_t group : {2u, 4u, 8u, 16u}) {
    for (const size_t groups : {2u, 3u, 4u, 5u, 9u, 16u, 17u, 33u}) {
      check({{1, 4, 5, group * groups}, group});
    }
  }
}

TEST(Int8GroupedConv, Pixels) { // runs of 7, parts of them
  for (const size_t width : {1u, 2u, 3u, 6u, 7u, 8u, 13u, 14u, 15u, 20u, 28u, 57u}) {
    for (const size_t stride : {1u, 2u}) {
      check({{2, 3, width, 48}, 4, 3, stride});
    }
  }
}

TEST(Int8GroupedConv, Windows) {
  for (const size_t rows : {1u, 2u, 3u, 5u}) {
    for (const size_t stride : {1u, 2u}) {
      for (const size_t padding : {0u, 1u, 2u, 4u}) { // the last has windows that see nothing of the image
        check({{2, 6, 9, 80}, 8, rows, stride, padding});
      }
    }
  }
}

TEST(Int8GroupedConv, ImagesThatExceedTheCaches) {
  check({{1, 90, 120, 256}, 16, 3, 2});
}

TEST(Int8GroupedConv, RowsThatThreadsShare) {
  check({{1, 1, 300, 96}, 4, 1});
  check({{1, 1, 77, 32}, 8, 1, 2});
  check({{2, 3, 41, 32}, 8});
  check({{1, 1, 40000, 48}, 4, 1}); // exceeds the caches
}

TEST(Int8GroupedConv, OneScaleAndNoBias) {
  check({{1, 5, 6, 64}, 4, 3, 1, 1, /*by_channel=*/false, /*has_bias=*/false});
}

TEST(Int8GroupedConv, SumsAtBothEndsOfTheRange) {
  for (const size_t group : {2u, 4u, 16u}) {
    check_ends_of_range<Int8GroupedConv>(parameters({{1, 5, 6, 96}, group, 3, 1, 0}));
  }
}

TEST(Int8GroupedConv, HasGroupsThatDivideItsVectors) {
  const auto has = [](const Shape& input, const Shape& weight, size_t stride) {
    Int8ConvParameters p;
    p.input = input;
    p.weight = weight;
    p.width.stride = stride;
    return Int8GroupedConv::has(p);
  };
  EXPECT_TRUE(has({1, 8, 8, 32}, {32, 3, 3, 4}, 2));
  EXPECT_FALSE(has({1, 8, 8, 32}, {32, 3, 3, 1}, 1)); // depthwise
  EXPECT_FALSE(has({1, 8, 8, 36}, {36, 3, 3, 6}, 1));
  EXPECT_FALSE(has({1, 8, 8, 64}, {64, 3, 3, 32}, 1));
  EXPECT_FALSE(has({1, 8, 8, 32}, {64, 3, 3, 4}, 1)); // two channels out for one in
  EXPECT_FALSE(has({1, 8, 8, 32}, {32, 3, 5, 4}, 1));
  EXPECT_FALSE(has({1, 8, 8, 32}, {32, 3, 3, 4}, 3));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
