// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/bfloat16_conv.h>
#include <runtime/kernels/conv/conv.h>

#include <runtime/base/caches.h>
#include <runtime/kernels/conv/col2im_conv.h>
#include <runtime/kernels/conv/packed_conv.h>
#include <runtime/kernels/conv/window_conv.h>
#include <runtime/kernels/simd/reduced_float.h>

#include "conv_test.h"
#include "into_tail.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// x [N, H, W, C], weight [OC, KH, KW, IC]
void check(const Shape& x_shape, const Shape& w_shape, const Options& o = {}) {
  SCOPED_TRACE(x_shape.to_string() + " by " + w_shape.to_string());
  Tensor x = random_floats(x_shape);
  const Tensor w = random_floats(w_shape);
  if (o.clamp) {
    x.data<float>()[x.numel() / 2] = kNaN; // which limits must not hide
  }
  const std::optional<Tensor> bias = o.bias ? std::optional(random_floats({w_shape[0]})) : std::nullopt;
  const Shape shape = output_shape(x_shape, w_shape, o);
  const Tensor y = reference(x, w, bias, o, shape);
  ConvParameters p = conv_parameters(x_shape, w_shape, o);
  const bool depthwise = !o.transposed && w_shape[3] == 1 && w_shape[0] == x_shape[3];
  const bool multiplied = !o.transposed && w_shape[3] == 1 && w_shape[0] > x_shape[3];
  const Tolerance tolerance = conv_tolerance(w_shape);
  check_kernel(plain_case<Conv>(p, {x, w, bias}, {y.type}), y, tolerance);
  for (const bool in_blocks : {false, true}) {
    p.precision.in_blocks = in_blocks;
    for (const bool by_tap : {false, true}) {
      p.by_tap = by_tap && !o.transposed;
      check_kernel(plain_case<PackedConv>(p, {x, w, bias}, {y.type}, {1}), y, tolerance);
    }
  }
  p.by_tap = p.precision.in_blocks = false;
  if (WindowConv::has(p)) {
    check_kernel(plain_case<WindowConv>(p, {x, w, bias}, {y.type}, {1}), y, tolerance);
  }
  if (Col2ImConv::has(p)) {
    check_kernel(plain_case<Col2ImConv>(p, {x, w, bias}, {y.type}, {1}), y, tolerance);
  }
  if (depthwise || multiplied) {
    check_kernel(plain_case<DepthwiseConv>(p, {x, w, bias}, {y.type}, {1}), y, tolerance);
    p.packs_weight = false;
    check_kernel(plain_case<DepthwiseConv>(p, {x, w, bias}, {y.type}), y, tolerance);
    p.packs_weight = true;
  }
  if (!o.transposed) {
    for_each_isa([&] {
      for (const size_t threads : {0, 3}) {
        if (GroupedConv::has(p)) {
          const Tensor found = run_kernel(plain_case<GroupedConv>(p, {x, w, bias}, {y.type}, {1}), threads);
          EXPECT_TRUE(matches(found, y, tolerance));
        }
      }
    });
  }

  // Weights of low precision.
  const auto low_precision_case = [&](const Tensor& image, const Tensor& weight) {
    return depthwise ? plain_case<DepthwiseConv>(p, {image, weight, bias}, {y.type}, {1})
                     : plain_case<PackedConv>(p, {image, weight, bias}, {y.type}, {1});
  };
  for (const LowPrecision precision :
       {LowPrecision{DType::Float16}, {DType::BFloat16}, {DType::BFloat16, /*rounds_x=*/true}}) {
    const Tensor image = rounded(x, precision.rounds_x ? precision.type : DType::Float32);
    const Tensor weight = rounded(w, precision.type);
    p.precision = precision;
    const Tensor rounded_y = reference(image, weight, bias, o, shape);
    const Isas isas = precision.rounds_x ? Isas::WithBFloat16 : Isas::Vectors;
    check_kernel(low_precision_case(image, weight), rounded_y, tolerance, isas);
    if (depthwise) { // and an image of the same type
      p.input_type = precision.type;
      const Tensor of_image = reference(rounded(x, precision.type), weight, bias, o, shape);
      check_kernel(low_precision_case(narrowed(x, precision.type), weight), of_image, tolerance, isas);
      p.input_type = DType::Float32;
    }
    if (precision.rounds_x && !o.transposed && o.groups == 1) {
      check_kernel(
          plain_case<BFloat16Conv>(p, {image, weight, bias}, {y.type}, {1}), rounded_y, tolerance, Isas::OnlyBFloat16);
    }
  }
  std::vector<float> scales(w_shape[0]);
  std::vector<int32_t> zero_points(w_shape[0]);
  for (size_t i = 0; i < w_shape[0]; ++i) {
    scales[i] = 0.01f + 0.001f * static_cast<float>(i % 11);
    zero_points[i] = i % 3 == 0 ? -3 : static_cast<int32_t>(i * 7 % 200) - 100;
  }
  p.precision = {DType::Int8};
  const Tensor integers = iota(DType::Int8, w_shape);
  for (const size_t count : {size_t{1}, w_shape[0]}) {
    Tensor numbers(DType::Float32, w_shape);
    for (size_t i = 0; i < w.numel(); ++i) {
      const size_t k = count == 1 ? 0 : i / w_shape.numel(1, 4);
      numbers.data<float>()[i] = static_cast<float>(integers.data<int8_t>()[i] - zero_points[k]) * scales[k];
    }
    p.weight_scales = {{scales.data(), count}, {zero_points.data(), count}};
    check_kernel(
        low_precision_case(x, integers), reference(x, numbers, bias, o, shape), {2 * tolerance.absolute, 2e-6f});
  }
}

TEST(Conv, Windows) {
  check({2, 7, 9, 5}, {6, 1, 1, 5});
  check({2, 7, 9, 5}, {6, 3, 3, 5});
  check({1, 7, 9, 5}, {6, 3, 2, 5}, options(2, 1, 1));
  check({1, 11, 9, 4}, {3, 3, 3, 4}, options(1, 2, 2));
  check({1, 3, 3, 4}, {3, 3, 3, 4}, options(3, 5, 1));
  Options o;
  o.padding = {1, 0, 2, 3};
  o.stride = {2, 1};
  o.bias = false;
  o.clamp = Clamp{-0.5f, 2};
  check({1, 8, 8, 3}, {5, 3, 3, 3}, o);
}

TEST(Conv, Groups) {
  check({1, 5, 6, 8}, {6, 3, 3, 4}, options(1, 1, 1, 2));
  check({2, 5, 6, 6}, {9, 1, 1, 2}, options(1, 0, 1, 3));
  check({1, 5, 6, 3}, {6, 3, 3, 1}, options(1, 1, 1, 3)); // two outputs for each channel
}

TEST(Conv, ShareOfTapsThatSeeTheImage) {
  ConvParameters p;
  p.input = p.output = {1, 1, 1, 8};
  p.weight = {8, 1, 1, 8};
  EXPECT_EQ(seen_share(p), 1);
  p.input = p.output = {1, 4, 1, 8};
  p.weight = {8, 3, 1, 8};
  p.height = {1, 4, 4};
  EXPECT_FLOAT_EQ(seen_share(p), 1 / 3.0f);
  p.output = {1, 2, 1, 8};
  p.height = {2, 2, 2}; // rows 0 and 2 of the image, the middle tap; the first one sees row 0, the last one row 2
  EXPECT_FLOAT_EQ(seen_share(p), 4 / 6.0f);
}

TEST(Conv, ManyPixels) {
  check({1, 50, 60, 16}, {20, 5, 5, 16}, options(1, 2, 1));
}

TEST(Conv, Empty) {
  check({0, 5, 5, 3}, {4, 3, 3, 3});
}

TEST(DepthwiseConv, Windows) {
  for (const size_t channels : {1, 3, 16, 17, 64, 83}) {
    check({2, 9, 30, channels}, {channels, 3, 3, 1}, options(1, 1, 1, channels));
    check({1, 9, 30, channels}, {channels, 7, 7, 1}, options(1, 3, 1, channels));
    check({1, 13, 31, channels}, {channels, 5, 5, 1}, options(2, 2, 1, channels));
    check({1, 13, 31, channels}, {channels, 3, 3, 1}, options(2, 4, 3, channels));
    check({1, 7, 7, channels}, {channels, 7, 7, 1}, options(1, 3, 1, channels));
    check({1, 2, 3, channels}, {channels, 5, 5, 1}, options(1, 4, 1, channels));
    check({1, 1, 1, channels}, {channels, 3, 3, 1}, options(2, 1, 1, channels));
    check({1, 4, 40, channels}, {channels, 1, 1, 1}, options(1, 0, 1, channels));
  }
  for (const size_t channels : {2, 8, 11, 32}) {
    for (const size_t multiplier : {2, 3}) {
      check({2, 9, 13, channels}, {multiplier * channels, 3, 5, 1}, options(1, 1, 1, channels));
      check({1, 9, 14, channels}, {multiplier * channels, 7, 7, 1}, options(2, 3, 1, channels));
    }
  }
  Options o = options(1, 1, 1, 20);
  o.bias = false;
  o.clamp = Clamp{0, 1};
  check({1, 8, 40, 20}, {20, 3, 3, 1}, o);
}

// Of each width up to two runs of pixels, with windows that see each pixel once, or lie in the padding.
TEST(DepthwiseConv, Runs) {
  for (const size_t kernel : {3, 5, 7}) {
    for (const size_t stride : {1, 2}) {
      for (size_t width = 1; width <= 25; ++width) {
        SCOPED_TRACE(width);
        const size_t padding = width < kernel ? kernel - 1 : width % kernel;
        check({1, 3, width, 33}, {33, 3, kernel, 1}, options(stride, padding, 1, 33));
      }
    }
  }
}

// The last vector overlaps the one before, or there is less than one.
TEST(DepthwiseConv, AnyChannels) {
  for (const size_t kernel : {1, 3, 5, 7, 9}) {
    for (size_t channels = 1; channels <= 40; channels += channels < 20 ? 1 : 5) {
      SCOPED_TRACE(channels);
      for (const size_t stride : {1, 2}) {
        check({1, 4, 21, channels}, {channels, 3, kernel, 1}, options(stride, kernel / 2, 1, channels));
      }
      check({1, 4, 12, channels}, {channels, 3, kernel, 1}, options(1, kernel / 2 + 1, 2, channels));
    }
  }
}

// These have windows that lie in the padding for several of their columns, and wider ones than the image.
TEST(DepthwiseConv, WideWindows) {
  for (const size_t kernel : {8, 9, 11, 13, 14, 31}) {
    for (const size_t width : {1, 3, 4, 9, 11, 12, 14, 23, 28, 40}) {
      SCOPED_TRACE(width);
      check({1, 3, width, 33}, {33, 3, kernel, 1}, options(1, kernel - 1, 1, 33));
      check({2, 3, width + kernel, 33}, {33, 3, kernel, 1}, options(1, 2, 1, 33));
    }
  }
  check({1, 28, 28, 16}, {16, 31, 31, 1}, options(1, 15, 1, 16));
  check({1, 14, 9, 16}, {16, 9, 9, 1}, options(1, 8, 2, 16));
}

// What the windows of a row see is more than a share of the cache: the last block is not whole.
TEST(DepthwiseConv, BlocksOfChannels) {
  constexpr size_t kHeight = 9, kWidth = 15, kKernel = 7;
  const size_t channels = Caches::get().l2 / (kKernel * kWidth * sizeof(float)) / 2 + 5;
  const Shape x_shape{2, kHeight, kWidth, channels}, w_shape{channels, kKernel, kKernel, 1};
  const Options o = options(1, 3, 1, channels);
  const Tolerance tolerance = conv_tolerance(w_shape);
  ConvParameters p = conv_parameters(x_shape, w_shape, o);
  const Tensor x = random_floats(x_shape), w = random_floats(w_shape), bias = random_floats({channels});
  const Tensor y = reference(x, w, bias, o, p.output);
  check_kernel(plain_case<DepthwiseConv>(p, {x, w, bias}, {y.type}, {1}), y, tolerance);
  check_kernel(plain_case<IntoTail<DepthwiseConv, ConvParameters>>(p, {x, w, bias}, {y.type}, {1}), y, tolerance);

  p.input_type = DType::BFloat16;
  p.precision = {DType::BFloat16, /*rounds_x=*/true};
  const Tensor narrow_y = reference(rounded(x, p.input_type), rounded(w, p.input_type), bias, o, p.output);
  const Tensor narrow_x = narrowed(x, p.input_type), narrow_w = rounded(w, p.input_type);
  check_kernel(
      plain_case<DepthwiseConv>(p, {narrow_x, narrow_w, bias}, {y.type}, {1}), narrow_y, tolerance, Isas::WithBFloat16);
}

TEST(GroupedConv, BlocksOfChannels) {
  constexpr size_t kGroup = 4, kWidth = 20;
  const size_t channels = Caches::get().l2 / (3 * kWidth * sizeof(float)) / 2 / kGroup * kGroup;
  const Shape x_shape{1, 5, kWidth, channels}, w_shape{channels, 3, 3, kGroup};
  const Options o = options(1, 1, 1, channels / kGroup);
  const ConvParameters p = conv_parameters(x_shape, w_shape, o);
  const Tensor x = random_floats(x_shape), w = random_floats(w_shape), bias = random_floats({channels});
  const Tensor y = reference(x, w, bias, o, p.output);
  for_each_isa([&] {
    if (!GroupedConv::has(p)) {
      return;
    }
    for (const size_t threads : {0, 3}) {
      const Tensor found = run_kernel(plain_case<GroupedConv>(p, {x, w, bias}, {y.type}, {1}), threads);
      EXPECT_TRUE(matches(found, y, conv_tolerance(w_shape)));
    }
  });
}

TEST(GroupedConv, Runs) {
  for (const size_t group : {2, 4, 8, 16}) {
    for (const size_t stride : {1, 2}) {
      for (const size_t width : {1, 2, 3, 4, 5, 7, 9, 14, 23}) {
        SCOPED_TRACE(width);
        check({2, 5, width, 32}, {32, 3, 3, group}, options(stride, 1 + width % 3, 1, 32 / group));
      }
    }
  }
  Options o = options(1, 1, 1, 8);
  o.dilation.height = 2;
  o.padding = {2, 0, 1, 4}; // a window in the padding alone
  o.bias = false;
  o.clamp = Clamp{-1, 2};
  check({1, 6, 9, 32}, {32, 3, 3, 4}, o);
}

TEST(TransposedConv, Windows) {
  Options o = options(2, 1, 1);
  o.transposed = true;
  check({2, 5, 6, 4}, {3, 3, 3, 4}, o);
  o.output_padding = {1, 1};
  check({1, 5, 6, 4}, {3, 3, 3, 4}, o);
  o.groups = 2;
  check({1, 5, 6, 8}, {6, 4, 2, 4}, o);
  o = options(1, 0, 2);
  o.transposed = true;
  check({1, 5, 6, 4}, {3, 3, 3, 4}, o);
  check({1, 5, 6, 4}, {3, 1, 1, 4}, o);
  o = options(3, 0, 1, 4);
  o.transposed = true;
  check({1, 5, 6, 4}, {4, 2, 2, 1}, o);
}

// Steps that share no tap, that have several, and that have none.
TEST(TransposedConv, Strides) {
  Options o;
  o.transposed = true;
  for (const size_t stride : {1, 2, 3, 4, 5}) {
    for (const size_t dilation : {1, 2, 3}) {
      for (const size_t padding : {0, 1, 2}) {
        o.stride = {stride, stride == 1 ? 2 : stride - 1};
        o.dilation = {dilation, 1};
        o.padding = {padding, 0, 1, padding};
        o.output_padding = {stride > 2 ? size_t{1} : 0, 0};
        o.clamp = stride == 3 ? std::optional(Clamp{-1, 1}) : std::nullopt;
        check({1, 4, 5, 3}, {5, 4, 3, 3}, o);
      }
    }
  }
}

// As many pixels as the input has, but on other sides.
TEST(TransposedConv, OnePixelWindowThatMovesTheBorder) {
  Options o = options(1, 0, 3);
  o.transposed = true;
  o.output_padding = {2, 0};
  o.padding = {0, 2, 0, 0};
  check({1, 2, 4, 5}, {6, 1, 1, 5}, o);
}

TEST(TransposedConv, ManyPixels) {
  Options o = options(2, 1, 1);
  o.transposed = true;
  check({1, 30, 41, 12}, {20, 4, 4, 12}, o);
  check({0, 5, 6, 12}, {20, 4, 4, 12}, o);
}

TEST(Conv, WideGroups) {
  check({1, 9, 10, 40}, {68, 3, 3, 20}, options(1, 1, 1, 2));
  check({2, 9, 10, 40}, {34, 1, 1, 20}, options(1, 0, 1, 2));
}

// Pixels of tiles in one row of the image, or in several.
TEST(BFloat16Conv, Windows) {
  for (const Shape& x : {Shape{2, 7, 7, 40}, {1, 14, 15, 32}, {3, 5, 33, 7}, {1, 40, 3, 64}}) {
    const size_t channels = x[3];
    check(x, {20, 3, 3, channels}, options(1, 1, 1));
    check(x, {33, 3, 3, channels}, options(2, 1, 1));
    check(x, {16, 1, 1, channels}, options(1, 0, 1));
    check(x, {5, 1, 1, channels}, options(2, 0, 1));
    check(x, {17, 2, 3, channels}, options(1, 2, 2));
    Options o;
    o.stride = {2, 1};
    o.padding = {1, 0, 2, 3};
    check(x, {8, 3, 2, channels}, o);
    o.stride = {1, 3};
    o.padding = {0, 2, 0, 0};
    o.bias = false;
    o.clamp = Clamp{0, 6};
    check(x, {40, 1, 3, channels}, o);
  }
}

// Rows [1, 3) of the second image by themselves, in images of either type.
void check_strip(size_t width, size_t channels, size_t columns) {
  constexpr size_t kImages = 2, kHeight = 4;
  const RowRange rows{1, 3};
  ConvParameters p;
  p.input = {kImages, kHeight, width, channels};
  p.weight = {columns, 1, 1, channels};
  p.output = {kImages, kHeight, width, columns};
  p.precision = {DType::BFloat16, /*rounds_x=*/true};
  p.min = -1.5f;
  Tensor x = random_floats(p.input, -1, 1), rounded(DType::BFloat16, p.input);
  narrow(DType::BFloat16, x.data<float>(), rounded.data<uint16_t>(), x.numel());
  widen(DType::BFloat16, rounded.data<uint16_t>(), x.data<float>(), x.numel());
  Tensor weight(DType::BFloat16, p.weight);
  const Tensor numbers = random_floats(p.weight, -1, 1), bias = random_floats({columns}, -1, 1);
  narrow(DType::BFloat16, numbers.data<float>(), weight.data<uint16_t>(), weight.numel());
  std::vector<char> packed(BFloat16Conv::packed_bytes(p, 1) + 64);
  char* const panels = packed.data() + (64 - reinterpret_cast<uintptr_t>(packed.data()) % 64) % 64;
  ASSERT_TRUE(BFloat16Conv::pack(p, 1, weight.data<uint16_t>(), panels).ok());

  std::vector<float> whole(p.output.numel());
  const size_t line = width * columns, image = kHeight * width * channels;
  for (const DType type : {DType::Float32, DType::BFloat16}) {
    p.input_type = type;
    BFloat16Conv conv;
    StatusOr<size_t> scratch_bytes = conv.reshape(p, 1);
    ASSERT_TRUE(scratch_bytes.ok());
    std::vector<char> scratch(std::max(*scratch_bytes, conv.strip_scratch(rows.count())) + 1);
    const void* const inputs[] = {
        type == DType::Float32 ? static_cast<const void*>(x.data<float>()) : rounded.data<uint16_t>(),
        panels,
        bias.data<float>()};
    void* const outputs[] = {whole.data()};
    const KernelArguments arguments{{inputs, 3}, {outputs, 1}, scratch.data(), nullptr, nullptr};
    conv.run(arguments);
    std::vector<float> strip(rows.count() * line, kNaN);
    const char* const second = static_cast<const char*>(inputs[0]) + image * element_size(type);
    conv.run_strip(arguments, {0, conv.rows_seen(rows), second, strip.data()});
    const std::vector<float> expected(
        whole.begin() + (kHeight + rows.begin) * line, whole.begin() + (kHeight + rows.end) * line);
    EXPECT_EQ(strip, expected) << isa_name() << ": " << name_of(type) << ", width " << width << ", " << channels
                               << " channels to " << columns;
  }
}

TEST(BFloat16Conv, StripsHaveTheBitsOfTheWhole) {
  for_each_isa(
      [] {
        for (const size_t channels : {1, 2, 15, 16, 17, 31, 32, 33, 65, 255, 256, 257, 300}) {
          for (const size_t columns : {1, 15, 16, 17, 31, 32, 33, 48, 49, 65}) {
            check_strip(5, channels, columns);
          }
          for (const size_t width : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64}) {
            check_strip(width, channels, 33);
          }
        }
      },
      Isas::OnlyBFloat16);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
