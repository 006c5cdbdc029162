// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "ops/op_test.h"

#include <limits>

#include <gmock/gmock.h>
#include <runtime/kernels/conv/depthwise_row.h>
#include <runtime/kernels/simd/isa.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::Padding2D;
using schema::Size2D;

struct ConvAttributes {
  std::optional<Size2D> stride = Size2D(1, 1);
  std::optional<Padding2D> padding = Padding2D(0, 0, 0, 0);
  std::optional<Size2D> dilation = Size2D(1, 1);
  uint32_t groups = 1;
  std::optional<schema::Clamp> clamp = {};
  std::optional<Size2D> output_padding = Size2D(0, 0); // ConvTranspose2d only
  bool dynamic_quantization = false;
};

template <typename T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

OpCase conv(const ConvAttributes& a, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateConv2d(
        builder,
        pointer(a.stride),
        pointer(a.padding),
        pointer(a.dilation),
        a.groups,
        pointer(a.clamp),
        a.dynamic_quantization);
  };
  return OpCase(attributes, std::move(operands));
}

OpCase transposed(const ConvAttributes& a, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateConvTranspose2d(
        builder,
        pointer(a.stride),
        pointer(a.padding),
        pointer(a.output_padding),
        pointer(a.dilation),
        a.groups,
        pointer(a.clamp));
  };
  return OpCase(attributes, std::move(operands));
}

constexpr uint32_t kHuge = UINT32_MAX;

const Operand kImage = tensor({2, 9, 8, 4});
const Operand kWeight = weight({6, 3, 2, 4});

ConvAttributes stride(uint32_t height, uint32_t width) {
  ConvAttributes attributes;
  attributes.stride = Size2D(height, width);
  return attributes;
}
ConvAttributes padding(uint32_t top, uint32_t right, uint32_t bottom, uint32_t left) {
  ConvAttributes attributes;
  attributes.padding = Padding2D(top, right, bottom, left);
  return attributes;
}
ConvAttributes dilation(uint32_t height, uint32_t width) {
  ConvAttributes attributes;
  attributes.dilation = Size2D(height, width);
  return attributes;
}
ConvAttributes groups(uint32_t count) {
  ConvAttributes attributes;
  attributes.groups = count;
  return attributes;
}
ConvAttributes clamp(float min, float max) {
  ConvAttributes attributes;
  attributes.clamp = schema::Clamp(min, max);
  return attributes;
}

TEST(Conv2d, RoundsImagesOnlyForWeightsOfIntegers) {
  ConvAttributes attributes;
  attributes.dynamic_quantization = true;
  expect_refused(conv(attributes, {kImage, kWeight}), "dynamic quantization needs a weight that is quantized");
}

TEST(Conv2d, HasOnePixelForEachPosition) {
  expect_shape(conv({}, {kImage, kWeight}), {2, 7, 7, 6});
  expect_shape(conv(stride(2, 3), {kImage, kWeight}), {2, 4, 3, 6});
  expect_shape(conv(padding(1, 2, 3, 4), {kImage, kWeight}), {2, 11, 13, 6});
  expect_shape(conv(dilation(4, 7), {kImage, kWeight}), {2, 1, 1, 6});
  expect_shape(conv(groups(2), {tensor({1, 3, 2, 8}), kWeight, weight({6})}), {1, 1, 1, 6});
  expect_shape(conv({}, {tensor({0, 9, 8, 4}), kWeight}), {0, 7, 7, 6});
}

template <typename Make>
void expect_conv_refusals(const Make& make) {
  ConvAttributes none;
  none.stride.reset();
  expect_refused(make(none, {kImage, kWeight}), "has no stride, padding or dilation");
  none = {};
  none.padding.reset();
  expect_refused(make(none, {kImage, kWeight}), "has no stride, padding or dilation");
  none = {};
  none.dilation.reset();
  expect_refused(make(none, {kImage, kWeight}), "has no stride, padding or dilation");
  expect_refused(make(stride(0, 1), {kImage, kWeight}), "stride 0");
  expect_refused(make(stride(1, 0), {kImage, kWeight}), "stride 0");
  expect_refused(make(dilation(0, 1), {kImage, kWeight}), "dilation 0");
  expect_refused(make(dilation(1, 0), {kImage, kWeight}), "dilation 0");
  expect_refused(make(groups(0), {kImage, kWeight}), "0 groups do not match");
  expect_refused(make(groups(2), {kImage, kWeight}), "2 groups do not match");
  expect_refused(make(groups(4), {kImage, weight({6, 3, 2, 1})}), "4 groups do not match");
  expect_refused(make(groups(kHuge), {kImage, kWeight}), "groups do not match");
  expect_refused(make(clamp(1, 0), {kImage, kWeight}), "clamps to [1, 0]");
  expect_refused(make({}, {kImage, weight({6, 3, 2, 5})}), "do not match");
  expect_refused(make({}, {kImage, weight({6, 0, 2, 4})}), "do not match");
  expect_refused(make({}, {kImage, weight({0, 3, 2, 4})}), "do not match");
  expect_refused(make({}, {kImage, weight({6, 3, 8})}), "input 1 is Float32[6, 3, 8], but must have rank 4");
  expect_refused(make({}, {tensor({9, 8, 4}), kWeight}), "input 0 is Float32[9, 8, 4], but must have rank 4");
  expect_refused(make({}, {kImage, kWeight, weight({4})}), "must have shape [6]");
  expect_refused(make({}, {kImage, kWeight, weight({6, 1})}), "must have shape [6]");
  expect_refused(make({}, {kImage, kWeight, typed(DType::Int32, {6})}), "must be Float32");
  expect_refused(make({}, {kImage}), "has 1 inputs");
}

TEST(Conv2d, Refuses) { // Robustness: N1 N2 N3 N4
  expect_conv_refusals(conv);
  expect_refused(conv({}, {tensor({1, 2, 8, 4}), kWeight}), "a window over 3 elements does not fit");
  expect_refused(conv(dilation(5, 1), {kImage, kWeight}), "a window over 11 elements does not fit into 9");
  expect_refused(conv(dilation(kHuge, kHuge), {kImage, kWeight}), "a window over 8589934591 elements");
  expect_refused(conv(padding(kHuge, kHuge, kHuge, kHuge), {kImage, kWeight}), "table of windows");
  expect_refused(conv(padding(kHuge, 0, 0, 0), {kImage, weight({1 << 20, 3, 2, 4})}), "larger than 1 TiB");
}

TEST(Conv2d, XnnpackAgrees) {
  const Operand bias = weight({6});
  expect_agreement(conv({}, {kImage, kWeight}));
  expect_agreement(conv({}, {kImage, kWeight, bias}));
  expect_agreement(conv(stride(2, 3), {kImage, kWeight, bias}));
  expect_agreement(conv(padding(1, 2, 3, 4), {kImage, kWeight, bias}));
  expect_agreement(conv(dilation(2, 3), {kImage, kWeight, bias}));
  expect_agreement(conv(clamp(0, 0.5f), {kImage, kWeight, bias}));
  expect_agreement(conv(groups(2), {kImage, weight({6, 3, 2, 2}), bias}));
  expect_agreement(conv({}, {kImage, weight({6, 1, 1, 4}), bias}));
  expect_agreement(conv(stride(2, 2), {kImage, weight({6, 1, 1, 4}), bias}));
  expect_agreement(conv({}, {tensor({1, 1, 1, 4}), weight({6, 1, 1, 4}), bias}));
}

// Of one channel in each group.
void expect_agreement_of_depthwise(const OpCase& op, size_t kernel) {
  loads_pixels_once({0, 0, kernel, 1, 0, 1}) ? expect_agreement_in_float16(op) : expect_agreement(op);
}

TEST(Conv2d, XnnpackAgreesWithOneChannelInEachGroup) {
  ConvAttributes depthwise = groups(4);
  for (const uint32_t kernel : {1u, 2u, 3u, 5u, 7u}) {
    const Operand window = weight({4, kernel, kernel, 1});
    depthwise.padding = Padding2D(0, 0, 0, 0);
    if (kernel * kernel > 25) {
      EXPECT_FALSE(conv(depthwise, {kImage, window}).in_xnnpack()); // it is slow there
    } else {
      expect_agreement_of_depthwise(conv(depthwise, {kImage, window}), kernel);
      depthwise.padding = Padding2D(kernel / 2, kernel / 2, kernel / 2, kernel / 2);
      depthwise.clamp = schema::Clamp(-0.25f, 6);
      expect_agreement_of_depthwise(conv(depthwise, {kImage, window, weight({4})}), kernel);
    }
    const Operand two = weight({8, kernel, kernel, 1});
    expect_agreement_in_float16(conv(depthwise, {kImage, two, weight({8})}));
  }
}

TEST(Conv2d, XnnpackKeepsNaN) {
  std::vector<float> x(2 * 5 * 6 * 4, 1);
  x[30] = std::numeric_limits<float>::quiet_NaN();
  x[77] = std::numeric_limits<float>::infinity();
  const Operand image = tensor({2, 5, 6, 4}, x);
  const auto ones = [](const Shape& shape) { return weight(shape, std::vector<float>(shape.numel(), 1)); };
  for (const uint32_t size : {1, 2, 3, 5}) {
    for (const bool clamps : {false, true}) {
      ConvAttributes attributes = clamps ? clamp(-2, 2) : ConvAttributes();
      for (const size_t channels : {2, 4, 17, 40}) {
        expect_agreement(conv(attributes, {image, ones({channels, size, size, 4})}));
        expect_agreement(transposed(attributes, {image, ones({channels, size, size, 4})}));
      }
      attributes.groups = 4;
      expect_agreement_of_depthwise(conv(attributes, {image, ones({4, size, size, 1}), weight({4})}), size);
    }
  }
}

// Windows of as many taps as no microkernel of XNNPACK has.
TEST(Conv2d, NaNStaysInItsWindow) {
  const Operand image = tensor({1, 6, 7, 4});
  for (const auto& [height, width] :
       {std::pair<size_t, size_t>{1, 1}, {1, 2}, {2, 3}, {1, 5}, {3, 1}, {2, 2}, {4, 4}, {3, 5}}) {
    for (const uint32_t stride : {1, 2}) {
      for (const uint32_t border : {0, 1}) {
        ConvAttributes attributes = groups(4);
        attributes.stride = Size2D(stride, stride);
        attributes.padding = Padding2D(border, border, border, border);
        const Operand window = weight({4, height, width, 1}, std::vector<float>(4 * height * width, 1));
        SCOPED_TRACE(std::to_string(height) + " x " + std::to_string(width) + ", stride " + std::to_string(stride));
        for (const size_t place : {0, 9, 17, 41}) {
          std::vector<float> x(image.type->shape.numel(), 1);
          std::fill_n(&x[place * 4], 4, std::numeric_limits<float>::quiet_NaN());
          const OpCase op = conv(attributes, {tensor(image.type->shape, x), window});
          if (op.in_xnnpack()) {
            expect_agreement(op);
          }
        }
      }
    }
  }
}

TEST(Conv2d, KernelTakesWhatXnnpackDoesNot) {
  EXPECT_FALSE(conv({}, {kImage, tensor({6, 3, 2, 4})}).in_xnnpack());
  EXPECT_FALSE(conv({}, {kImage, kWeight, tensor({6})}).in_xnnpack());
  EXPECT_FALSE(conv({}, {tensor({0, 9, 8, 4}), kWeight}).in_xnnpack());
  EXPECT_FALSE(conv(stride(1 << 20, 1), {kImage, kWeight}).in_xnnpack());
}

Operand stored(DType dtype, const Shape& shape) {
  Operand operand = weight(shape);
  operand.type->constant_dtype = dtype;
  return operand;
}

std::string reason(const OpCase& op, size_t winograd_tile, bool float16 = false, bool xnnpack = true) {
  ChoiceOptions options;
  options.winograd_tile = winograd_tile;
  options.float16 = float16;
  options.xnnpack = xnnpack;
  return op.choose(*op.infer(), options).reason;
}

TEST(Conv2d, TakesFewerMultiplicationsWhereThatPays) {
  constexpr const char* k2 = "Winograd's tiles of 2 x 2 take fewer multiplications.";
  constexpr const char* k4 = "Winograd's tiles of 4 x 4 take fewer multiplications.";
  constexpr const char* kXnnpack = "XNNPACK has this operator.";
  const Operand image = tensor({1, 28, 28, 128}), window = weight({128, 3, 3, 128});
  const ConvAttributes same = padding(1, 1, 1, 1);
  EXPECT_EQ(reason(conv(same, {image, window, weight({128})}), 4), k4);
  EXPECT_EQ(reason(conv(same, {image, window, tensor({128})}), 4), k4) << "a bias may be computed";
  EXPECT_EQ(reason(conv(same, {image, window}), 3), k2);
  EXPECT_EQ(reason(conv(same, {image, window}), 2), k2);
  EXPECT_EQ(reason(conv(same, {image, window}), 1), kXnnpack);
  EXPECT_EQ(reason(conv(same, {image, window}), 0), kXnnpack);
  // Both are decided for the planned sizes, and a weight is packed once.
  EXPECT_EQ(reason(conv(same, {image, window}), 4, /*float16=*/false, /*xnnpack=*/false), k4);
  EXPECT_THAT(reason(conv(same, {image, window}), 4, /*float16=*/true), ::testing::StartsWith(kXnnpack));
  EXPECT_EQ(
      reason(conv(same, {image, tensor({128, 3, 3, 128})}), 4),
      "XNNPACK takes constant weights with up to 2^24 channels.");
  EXPECT_EQ(reason(conv(stride(2, 2), {image, window}), 4), kXnnpack);
  EXPECT_EQ(reason(conv(dilation(2, 2), {image, window}), 4), kXnnpack);
  EXPECT_EQ(reason(conv(same, {tensor({1, 28, 28, 3}), weight({16, 3, 3, 3})}), 4), kXnnpack);
  EXPECT_NE(reason(conv(same, {image, stored(DType::Float16, {128, 3, 3, 128})}), 4), k4);
}

std::string reason_with_blocks(const OpCase& op, bool float16 = false) {
  ChoiceOptions options;
  options.float16 = float16;
  return op.choose(*op.infer(), options, cpu_with_blocks(true)).reason;
}

TEST(Conv2d, IsInBlocksWhereThatPays) {
  const Operand image = tensor({1, 28, 28, 192});
  EXPECT_EQ(reason_with_blocks(conv({}, {image, weight({64, 1, 1, 192}), weight({64})})), kInBlocks);
  EXPECT_EQ(reason_with_blocks(conv(stride(2, 2), {image, weight({64, 1, 1, 192})})), kInBlocks);
  EXPECT_EQ(reason_with_blocks(conv({}, {tensor({1, 9, 9, 32}), weight({16, 3, 3, 32})})), kInBlocks);
  const OpCase patches = conv(stride(16, 16), {tensor({1, 64, 64, 3}), weight({32, 16, 16, 3})});
  EXPECT_EQ(reason_with_blocks(patches), kInBlocks) << "few channels, but windows do not overlap";
  const auto is_other = [](const OpCase& op) { return reason_with_blocks(op) != kInBlocks; };
  EXPECT_TRUE(is_other(conv({}, {tensor({1, 28, 28, 128}), weight({64, 1, 1, 128})}))) << "shallow";
  EXPECT_TRUE(is_other(conv({}, {tensor({1, 28, 28, 8}), weight({64, 5, 5, 8})}))) << "few channels";
  EXPECT_TRUE(is_other(conv({}, {image, weight({8, 1, 1, 192})}))) << "few columns";
  EXPECT_TRUE(is_other(conv({}, {tensor({1, 3, 5, 192}), weight({64, 1, 1, 192})}))) << "few rows";
  EXPECT_TRUE(is_other(conv(groups(2), {tensor({1, 28, 28, 384}), weight({64, 1, 1, 192})})));
  EXPECT_TRUE(is_other(conv({}, {image, tensor({64, 1, 1, 192})})));
  if (Cpu::get().float16) {
    EXPECT_NE(reason_with_blocks(conv({}, {image, weight({64, 1, 1, 192})}), /*float16=*/true), kInBlocks);
  }
}

TEST(Conv2d, IsInBlocksFromSoManyWeightsOn) {
  const OpCase op = conv({}, {tensor({1, 28, 28, 192}), weight({64, 1, 1, 192})});
  const auto reason = [&](size_t bytes) {
    Cpu cpu = cpu_with_blocks(true);
    cpu.blocks.float32_conv = bytes;
    return op.choose(*op.infer(), ChoiceOptions(), cpu).reason;
  };
  EXPECT_EQ(reason(64 * 192 * sizeof(float)), kInBlocks);
  EXPECT_NE(reason(64 * 192 * sizeof(float) + 1), kInBlocks);
}

TEST(Conv2d, ReadsWindowsOfFewChannelsWhereTheyLie) {
  const auto reads = [](const OpCase& op) {
    return reason_with_blocks(op).find("windows of few channels") != std::string::npos;
  };
  const Operand image = tensor({1, 28, 28, 3});
  EXPECT_TRUE(reads(conv(stride(2, 2), {image, weight({64, 7, 7, 3}), weight({64})})));
  EXPECT_FALSE(reads(conv(stride(2, 2), {image, weight({64, 3, 3, 3})}))) << "small windows";
  EXPECT_FALSE(reads(conv(stride(2, 2), {image, weight({8, 7, 7, 3})}))) << "few columns";
  EXPECT_FALSE(reads(conv(stride(7, 7), {image, weight({64, 7, 7, 3})}))) << "windows do not overlap";
  EXPECT_FALSE(reads(conv(dilation(2, 2), {image, weight({64, 7, 7, 3})})));
  EXPECT_FALSE(reads(conv({}, {tensor({1, 28, 28, 16}), weight({64, 7, 7, 16})})));
  EXPECT_FALSE(reads(conv({}, {image, tensor({64, 7, 7, 3})})));
}

bool pays_by_col2im(const OpCase& op, size_t winograd_tile = 0, bool float16 = false) {
  return reason(op, winograd_tile, float16).find("weights of all taps") != std::string::npos;
}

TEST(Conv2d, MultipliesAllTapsAtOnceWhereChannelsOutAreFew) {
  const bool has = float_lanes() >= 8;
  const Operand image = tensor({1, 64, 64, 32});
  const ConvAttributes same = padding(1, 1, 1, 1);
  EXPECT_EQ(pays_by_col2im(conv(same, {image, weight({3, 9, 9, 32}), weight({3})}), 4), has);
  EXPECT_EQ(pays_by_col2im(conv(same, {image, weight({12, 5, 5, 32})}), 4), has);
  EXPECT_EQ(pays_by_col2im(conv(same, {image, weight({3, 3, 3, 32})}), 4), has);
  EXPECT_EQ(pays_by_col2im(conv(same, {image, weight({8, 3, 3, 32})})), has);
  EXPECT_FALSE(pays_by_col2im(conv(same, {image, weight({8, 3, 3, 32})}), 4)) << "Winograd";
  EXPECT_FALSE(pays_by_col2im(conv(same, {image, weight({16, 5, 5, 32})}))) << "many channels";
  EXPECT_FALSE(pays_by_col2im(conv(same, {tensor({1, 64, 64, 8}), weight({3, 5, 5, 8})}))) << "shallow";
  EXPECT_FALSE(pays_by_col2im(conv({}, {image, weight({3, 1, 1, 32})}))) << "one tap";
  EXPECT_FALSE(pays_by_col2im(conv(stride(2, 2), {image, weight({3, 5, 5, 32})})));
  EXPECT_FALSE(pays_by_col2im(conv(dilation(2, 2), {image, weight({3, 5, 5, 32})})));
  EXPECT_FALSE(pays_by_col2im(conv(same, {image, tensor({3, 5, 5, 32})})));
  EXPECT_FALSE(pays_by_col2im(conv(same, {image, weight({3, 5, 5, 32})}), 0, /*float16=*/true));
}

TEST(ConvTranspose2d, MultipliesAllTapsAtOnceWhereChannelsOutAreFewOrSeeOnePixel) {
  const bool has = float_lanes() >= 8;
  const Operand image = tensor({1, 32, 32, 64});
  EXPECT_EQ(pays_by_col2im(transposed(stride(2, 2), {image, weight({3, 4, 4, 64}), weight({3})})), has);
  EXPECT_EQ(pays_by_col2im(transposed(stride(2, 2), {image, weight({16, 2, 2, 64})})), has);
  EXPECT_FALSE(pays_by_col2im(transposed(stride(2, 2), {image, weight({32, 2, 2, 64})})));
  EXPECT_EQ(pays_by_col2im(transposed({}, {tensor({1, 1, 1, 100}), weight({512, 4, 4, 100})})), has);
  EXPECT_FALSE(pays_by_col2im(transposed({}, {tensor({2, 1, 1, 100}), weight({512, 4, 4, 100})})));
}

bool in_xnnpack(const OpCase& op, bool float16) {
  ChoiceOptions options;
  options.float16 = float16;
  return op.choose(*op.infer(), options).kind == Choice::Kind::Xnnpack;
}

// But for small ones, which XNNPACK has in Float32, and those that it has in Float16 as they are.
TEST(Conv2d, WeightsOf16BitsStaySo) {
  const bool has_float16 = conv({}, {tensor({1, 5, 5, 64}), weight({32, 3, 3, 64})}).in_float16();
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const OpCase large = conv({}, {tensor({1, 5, 5, 64}), stored(dtype, {32, 3, 3, 64})});
    EXPECT_FALSE(in_xnnpack(large, /*float16=*/false));
    EXPECT_EQ(in_xnnpack(large, /*float16=*/true), has_float16 && dtype == DType::Float16);
    for (const bool float16 : {false, dtype == DType::BFloat16}) {
      EXPECT_FALSE(in_xnnpack(conv(groups(2), {tensor({1, 5, 5, 128}), stored(dtype, {64, 3, 3, 64})}), float16));
      EXPECT_FALSE(in_xnnpack(conv(groups(4), {kImage, stored(dtype, {4, 3, 3, 1})}), float16));
      EXPECT_FALSE(in_xnnpack(transposed({}, {tensor({1, 5, 5, 64}), stored(dtype, {32, 3, 3, 64})}), float16));
    }
    EXPECT_TRUE(conv(groups(4), {tensor({1, 5, 5, 128}), stored(dtype, {128, 3, 3, 32})}).in_xnnpack());
    expect_agreement(conv({}, {kImage, stored(dtype, {6, 3, 2, 4})}));
    expect_agreement(transposed({}, {kImage, stored(dtype, {6, 3, 2, 4})}));
  }
  EXPECT_TRUE(conv({}, {tensor({1, 5, 5, 64}), weight({32, 3, 3, 64})}).in_xnnpack());
}

TEST(ConvTranspose2d, GrowsTheImage) {
  expect_shape(transposed({}, {kImage, kWeight}), {2, 11, 9, 6});
  expect_shape(transposed(stride(2, 3), {kImage, kWeight}), {2, 19, 23, 6});
  expect_shape(transposed(padding(1, 2, 3, 0), {kImage, kWeight}), {2, 7, 7, 6});
  expect_shape(transposed(dilation(2, 2), {kImage, kWeight}), {2, 13, 10, 6});
  ConvAttributes uneven = stride(2, 2);
  uneven.output_padding = Size2D(1, 0);
  expect_shape(transposed(uneven, {kImage, kWeight}), {2, 20, 16, 6});
}

TEST(ConvTranspose2d, Refuses) { // Robustness: N2 N3 N4
  expect_conv_refusals(transposed);
  ConvAttributes attributes;
  attributes.output_padding.reset();
  expect_refused(transposed(attributes, {kImage, kWeight}), "has no output padding");
  attributes.output_padding = Size2D(1, 0);
  expect_refused(transposed(attributes, {kImage, kWeight}), "output padding 1 is not below stride 1 or dilation 1");
  expect_refused(transposed({}, {tensor({1, 0, 8, 4}), kWeight}), "the image is empty");
  expect_refused(transposed(padding(6, 0, 5, 0), {kImage, kWeight}), "nothing of the output is left");
  expect_refused(transposed(padding(kHuge, 0, kHuge, 0), {kImage, kWeight}), "nothing of the output is left");
  expect_refused(transposed(stride(kHuge, kHuge), {kImage, kWeight}), "table of windows");
  const size_t many = size_t{1} << 38;
  expect_refused(transposed(stride(kHuge, 1), {tensor({1, many, 1, 1}), weight({1, 1, 1, 1})}), "far too much");
}

TEST(ConvTranspose2d, XnnpackAgrees) {
  const Operand bias = weight({6});
  expect_agreement(transposed({}, {kImage, kWeight}));
  expect_agreement(transposed(stride(2, 3), {kImage, kWeight, bias}));
  expect_agreement(transposed(padding(1, 2, 3, 0), {kImage, kWeight, bias}));
  expect_agreement(transposed(dilation(2, 3), {kImage, kWeight, bias}));
  expect_agreement(transposed(clamp(0, 0.5f), {kImage, kWeight, bias}));
  expect_agreement(transposed(groups(2), {kImage, weight({6, 3, 2, 2}), bias}));
  ConvAttributes uneven = stride(3, 2);
  uneven.padding = Padding2D(1, 0, 0, 1);
  uneven.output_padding = Size2D(2, 1);
  uneven.groups = 2;
  expect_agreement(transposed(uneven, {kImage, weight({6, 3, 2, 2}), bias}));
  uneven.dilation = Size2D(2, 1);
  expect_agreement(transposed(uneven, {kImage, weight({6, 3, 2, 2}), bias}));
}

// XNNPACK computes the pixels of each remainder by the stride on their own: here some have none.
TEST(ConvTranspose2d, XnnpackAgreesWhereTheResultIsSmallerThanTheStride) {
  for (const uint32_t size : {3, 4, 5}) {
    ConvAttributes attributes = stride(size, size);
    for (const Padding2D& padding : {Padding2D(1, 1, 1, 0), Padding2D(1, size - 2, size - 2, 1)}) {
      attributes.padding = padding;
      for (const size_t channels : {1, 4}) {
        const Operand kernel = weight({6, size, size, channels});
        expect_agreement(transposed(attributes, {tensor({2, 1, 1, channels}), kernel, weight({6})}));
        expect_agreement(transposed(attributes, {tensor({2, 2, 1, channels}), kernel, weight({6})}));
        expect_agreement(transposed(attributes, {tensor({2, 1, 3, channels}), kernel}));
      }
    }
  }
}

TEST(ConvTranspose2d, KernelTakesWhatXnnpackDoesNot) {
  ConvAttributes wide = dilation(3, 3);
  wide.output_padding = Size2D(2, 2);
  EXPECT_FALSE(transposed(wide, {kImage, kWeight}).in_xnnpack());
  EXPECT_FALSE(transposed({}, {kImage, tensor({6, 3, 2, 4})}).in_xnnpack());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
