// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/window_conv.h>

#include "conv_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

void check(const Shape& x_shape, const Shape& w_shape, const Options& o = {}) {
  SCOPED_TRACE(x_shape.to_string() + " by " + w_shape.to_string());
  const Tensor x = random_floats(x_shape), w = random_floats(w_shape);
  const std::optional<Tensor> bias = o.bias ? std::optional(random_floats({w_shape[0]})) : std::nullopt;
  const ConvParameters p = conv_parameters(x_shape, w_shape, o);
  ASSERT_TRUE(WindowConv::has(p));
  const Tensor y = reference(x, w, bias, o, p.output);
  check_kernel(plain_case<WindowConv>(p, {x, w, bias}, {y.type}, {1}), y, conv_tolerance(w_shape));
}

TEST(WindowConv, FirstLayersOfNetworks) {
  check({1, 33, 35, 3}, {64, 7, 7, 3}, options(2, 3, 1));
  check({2, 18, 17, 3}, {32, 3, 3, 3}, options(2, 1, 1));
  check({1, 30, 31, 3}, {48, 7, 7, 3}, options(4, 2, 1));
  check({1, 28, 28, 1}, {20, 5, 5, 1}, options(1, 2, 1));
}

TEST(WindowConv, Columns) { // panels, tiles and vectors, all or in part
  for (const size_t columns : {1u, 7u, 8u, 9u, 15u, 16u, 17u, 24u, 31u, 32u, 33u, 48u, 49u, 64u, 65u}) {
    check({1, 5, 14, 3}, {columns, 3, 3, 3}, options(1, 1, 1));
  }
}

TEST(WindowConv, Pixels) {
  for (const size_t width : {1u, 2u, 5u, 6u, 7u, 11u, 12u, 13u, 23u, 25u, 37u, 130u}) {
    check({1, 4, width, 2}, {33, 3, 3, 2}, options(1, 1, 1));
    check({3, 3, width, 4}, {16, 1, 1, 4});
  }
}

TEST(WindowConv, WindowsAndPadding) {
  for (const size_t kernel : {1u, 2u, 3u, 5u}) {
    for (const size_t stride : {1u, 2u, 3u}) {
      for (size_t padding = 0; padding <= kernel + 1; ++padding) { // up to windows that see nothing of the image
        Options o = options(stride, padding, 1);
        o.padding.right = o.padding.bottom = kernel - 1;
        o.bias = padding % 2 == 0;
        check({2, 6, 7, 3}, {18, kernel, kernel, 3}, o);
      }
    }
  }
  Options o;
  o.stride = {1, 3};
  o.padding = {2, 0, 1, 1};
  o.clamp = {-0.5f, 0.75f};
  check({1, 9, 20, 5}, {20, 4, 2, 5}, o);
}

TEST(WindowConv, ImagesThatExceedTheCaches) {
  check({1, 9, 3000, 12}, {17, 3, 3, 12}, options(1, 1, 1));
  check({1, 200, 300, 3}, {17, 7, 7, 3}, options(2, 3, 1));
}

TEST(WindowConv, RowsThatThreadsShare) { // as of one dimension
  Options o;
  o.padding = {0, 7, 0, 7};
  check({1, 1, 500, 12}, {64, 1, 15, 12}, o);
  check({2, 1, 37, 12}, {16, 1, 15, 12}, o);
  o.stride = {1, 3};
  check({1, 1, 401, 7}, {17, 1, 15, 7}, o);
}

TEST(WindowConv, KeepsNaN) {
  Tensor x = random_floats({1, 6, 9, 3});
  x.data<float>()[3 * (2 * 9 + 4)] = kNaN;
  const Tensor w = random_floats({16, 3, 3, 3});
  Options o = options(1, 1, 1);
  o.clamp = {0, 6};
  const ConvParameters p = conv_parameters(x.shape(), w.shape(), o);
  const Tensor y = reference(x, w, std::nullopt, o, p.output);
  check_kernel(plain_case<WindowConv>(p, {x, w, std::nullopt}, {y.type}, {1}), y, conv_tolerance(w.shape()));
}

TEST(WindowConv, TakesOneGroupWithoutDilation) {
  const Shape x{1, 9, 9, 4}, w{16, 3, 3, 4};
  EXPECT_TRUE(WindowConv::has(conv_parameters(x, w, options(2, 1, 1))));
  EXPECT_FALSE(WindowConv::has(conv_parameters(x, w, options(1, 1, 2))));
  EXPECT_FALSE(WindowConv::has(conv_parameters(x, {16, 3, 3, 2}, options(1, 1, 1, 2))));
  Options transposed;
  transposed.transposed = true;
  EXPECT_FALSE(WindowConv::has(conv_parameters(x, w, transposed)));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
