// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/col2im_conv.h>

#include "conv_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

void check(const Shape& x_shape, const Shape& w_shape, const Options& o) {
  SCOPED_TRACE(x_shape.to_string() + " by " + w_shape.to_string());
  const Tensor x = random_floats(x_shape), w = random_floats(w_shape);
  const std::optional<Tensor> bias = o.bias ? std::optional(random_floats({w_shape[0]})) : std::nullopt;
  const ConvParameters p = conv_parameters(x_shape, w_shape, o);
  ASSERT_TRUE(Col2ImConv::has(p));
  const Tensor y = reference(x, w, bias, o, p.output);
  check_kernel(plain_case<Col2ImConv>(p, {x, w, bias}, {y.type}, {1}), y, conv_tolerance(w_shape));
}

Options transposed(size_t stride, size_t padding, size_t output_padding = 0) {
  Options o = options(stride, padding, 1);
  o.transposed = true;
  o.output_padding = {output_padding, output_padding};
  return o;
}

TEST(Col2ImConv, LastLayersOfNetworks) {
  check({1, 32, 32, 64}, {3, 4, 4, 64}, transposed(2, 1)); // DCGAN
  check({1, 17, 23, 56}, {1, 9, 9, 56}, transposed(4, 4, 3)); // FSRCNN
  check({1, 40, 41, 32}, {3, 9, 9, 32}, options(1, 4, 1)); // of fast neural style
  check({2, 30, 31, 64}, {3, 3, 3, 64}, options(1, 1, 1)); // super-resolution
  check({1, 25, 20, 32}, {1, 2, 2, 32}, transposed(2, 0));
}

TEST(Col2ImConv, WindowsAndPadding) {
  for (const size_t kernel : {1u, 2u, 3u, 5u}) {
    for (size_t padding = 0; padding <= kernel + 1; ++padding) { // up to pixels that see nothing of the image
      Options o = options(1, padding, 1);
      o.padding.right = o.padding.bottom = kernel - 1;
      o.bias = padding % 2 == 0;
      check({2, 6, 7, 5}, {3, kernel, kernel, 5}, o);
    }
    for (const size_t stride : {1u, 2u, 3u, 4u}) { // up to more than the window: some pixels see nothing
      for (size_t padding = 0; padding < kernel; ++padding) {
        Options o = transposed(stride, padding, stride - 1);
        o.bias = padding % 2 == 0;
        check({2, 6, 7, 5}, {3, kernel, kernel, 5}, o);
      }
    }
  }
  Options o = transposed(1, 0);
  o.stride = {1, 3};
  o.padding = {2, 0, 1, 1};
  o.clamp = {-0.5f, 0.75f};
  check({1, 9, 20, 5}, {2, 4, 2, 5}, o);
  o.stride = {3, 2};
  check({1, 9, 20, 5}, {2, 1, 5, 5}, o);
}

TEST(Col2ImConv, Runs) { // of a row of taps: vectors, all or in part
  for (const size_t channels : {1u, 2u, 3u, 5u, 8u, 11u, 16u, 17u}) {
    for (const size_t kernel : {1u, 3u, 4u, 9u}) {
      check({1, 5, 14, 3}, {channels, 3, kernel, 3}, options(1, 1, 1));
      check({1, 5, 14, 3}, {channels, 2, kernel, 3}, transposed(2, 0));
    }
  }
}

TEST(Col2ImConv, Pixels) { // of a row, more and fewer than are multiplied at a time
  for (const size_t width : {1u, 2u, 5u, 11u, 12u, 13u, 47u, 48u, 97u, 300u}) {
    check({1, 4, width, 2}, {3, 3, 3, 2}, options(1, 1, 1));
    check({3, 3, width, 4}, {2, 4, 4, 4}, transposed(2, 1));
  }
  check({1, 2, 3000, 6}, {3, 5, 5, 6}, options(1, 2, 1));
  check({1, 200, 90, 3}, {1, 7, 7, 3}, options(1, 3, 1)); // in parts that threads share
}

TEST(Col2ImConv, GivesTheSameOnAnyNumberOfThreads) {
  for (const size_t width : {9u, 90u, 700u}) {
    const Tensor x = random_floats({1, 100, width, 3}), w = random_floats({2, 5, 5, 3});
    for (const Options& o : {options(1, 2, 1), transposed(2, 1)}) {
      const ConvParameters p = conv_parameters(x.shape(), w.shape(), o);
      const PlainCase conv =
          plain_case<Col2ImConv>(p, {x, w, std::nullopt}, {TensorSpec{DType::Float32, p.output}}, {1});
      EXPECT_EQ(run_kernel(conv, 3).bytes, run_kernel(conv).bytes);
    }
  }
}

TEST(Col2ImConv, Limits) {
  for (const bool is_transposed : {false, true}) {
    Options o = is_transposed ? transposed(2, 1) : options(1, 1, 1);
    for (const Clamp clamp : {Clamp{0, kInfinity}, Clamp{-kInfinity, 1}, Clamp{0, 6}}) {
      o.clamp = clamp;
      check({1, 9, 11, 8}, {3, 3, 3, 8}, o);
    }
    Tensor x = random_floats({1, 6, 9, 3});
    x.data<float>()[3 * (2 * 9 + 4)] = kNaN;
    const Tensor w = random_floats({2, 3, 3, 3});
    const ConvParameters p = conv_parameters(x.shape(), w.shape(), o);
    const Tensor y = reference(x, w, std::nullopt, o, p.output);
    check_kernel(plain_case<Col2ImConv>(p, {x, w, std::nullopt}, {y.type}, {1}), y, conv_tolerance(w.shape()));
  }
}

TEST(Col2ImConv, TakesOneGroupWithoutDilation) {
  const Shape x{1, 9, 9, 4}, w{3, 3, 3, 4};
  EXPECT_TRUE(Col2ImConv::has(conv_parameters(x, w, options(1, 1, 1))));
  EXPECT_TRUE(Col2ImConv::has(conv_parameters(x, w, transposed(2, 1))));
  EXPECT_FALSE(Col2ImConv::has(conv_parameters(x, w, options(2, 1, 1))));
  EXPECT_FALSE(Col2ImConv::has(conv_parameters(x, w, options(1, 1, 2))));
  EXPECT_FALSE(Col2ImConv::has(conv_parameters(x, {4, 3, 3, 2}, options(1, 1, 1, 2))));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
