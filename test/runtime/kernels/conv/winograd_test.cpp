// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/winograd.h>

#include <algorithm>
#include <cmath>

#include "into_tail.h"
#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Padding {
  size_t top = 1, right = 1, bottom = 1, left = 1;
};

struct Layer {
  Tensor x, weight;
  std::optional<Tensor> bias;
  WinogradParameters parameters;

  Layer(const Shape& shape, size_t output_channels, const Padding& padding = {}) {
    x = random_floats(shape);
    weight = random_floats({output_channels, 3, 3, shape[3]});
    bias = random_floats({output_channels});
    parameters.input = shape;
    parameters.weight = weight.shape();
    parameters.output = {
        shape[0],
        shape[1] + padding.top + padding.bottom - 2,
        shape[2] + padding.left + padding.right - 2,
        output_channels};
    parameters.height.padding = padding.top;
    parameters.width.padding = padding.left;
  }

  float& pixel(size_t image, size_t row, size_t column, size_t channel) {
    const Shape& s = parameters.input;
    return x.data<float>()[((image * s[1] + row) * s[2] + column) * s[3] + channel];
  }
};

// As a sum of products of T, a tap after the other; pixels outside of the image are left out.
template <typename T>
std::vector<T> sums_of_products(const Layer& layer) {
  const WinogradParameters& p = layer.parameters;
  const Shape& shape = p.output;
  const size_t channels = p.input[3];
  std::vector<T> y(shape.numel());
  Index at(shape);
  for (T& result : y) {
    const float* const weight = layer.weight.data<float>() + at[3] * 9 * channels;
    T sum = 0;
    for (size_t tap = 0; tap < 9; ++tap) {
      const size_t row = at[1] + tap / 3 - p.height.padding, column = at[2] + tap % 3 - p.width.padding;
      if (row >= p.input[1] || column >= p.input[2]) {
        continue;
      }
      const float* const x = layer.x.data<float>() + ((at[0] * p.input[1] + row) * p.input[2] + column) * channels;
      for (size_t c = 0; c < channels; ++c) {
        sum = std::fma(static_cast<T>(x[c]), static_cast<T>(weight[tap * channels + c]), sum);
      }
    }
    sum += layer.bias ? static_cast<T>(layer.bias->data<float>()[at[3]]) : 0;
    const T low = static_cast<T>(p.min), high = static_cast<T>(p.max);
    result = sum < low ? low : sum > high ? high : sum;
    at.next();
  }
  return y;
}

template <typename Conv = WinogradConv>
PlainCase case_of(const Layer& layer) {
  return plain_case<Conv>(
      layer.parameters,
      {layer.x, layer.weight, layer.bias},
      {TensorSpec{DType::Float32, layer.parameters.output}},
      {1});
}

void check(Layer layer, std::optional<Tolerance> wanted = std::nullopt) {
  const float terms = static_cast<float>(layer.weight.shape().numel(1, 4));
  const Tolerance tolerance = wanted.value_or(Tolerance{1e-6f * (terms + 20), 1e-6f});
  const std::vector<double> sums = sums_of_products<double>(layer);
  Tensor expected(DType::Float32, layer.parameters.output);
  std::transform(sums.begin(), sums.end(), expected.data<float>(), [](double sum) { return static_cast<float>(sum); });
  for (const size_t tile : {2, 4}) {
    SCOPED_TRACE(layer.parameters.input.to_string() + ", tiles of " + std::to_string(tile));
    layer.parameters.tile = tile;
    check_kernel(case_of(layer), expected, tolerance);
    check_kernel(case_of<IntoTail<WinogradConv, WinogradParameters>>(layer), expected, tolerance);
  }
}

TEST(WinogradConv, Sizes) {
  for (const size_t size : {1, 2, 3, 4, 5, 7, 8, 9}) {
    check(Layer({1, size, size, 5}, 3));
    check(Layer({2, size, 10 - size, 3}, 18));
  }
  check(Layer({1, 3, 40, 4}, 6));
  check(Layer({1, 31, 1, 4}, 6));
}

TEST(WinogradConv, Paddings) {
  check(Layer({1, 3, 3, 4}, 5, {0, 0, 0, 0}));
  check(Layer({1, 6, 7, 4}, 5, {0, 0, 0, 0}));
  check(Layer({1, 6, 7, 4}, 5, {1, 0, 0, 1}));
  check(Layer({2, 5, 6, 4}, 5, {0, 1, 1, 0}));
  check(Layer({1, 5, 6, 4}, 5, {2, 1, 0, 3}));
  check(Layer({1, 1, 1, 4}, 5, {7, 6, 5, 8}));
}

TEST(WinogradConv, Channels) {
  for (const size_t channels : {1, 2, 8, 15, 16, 17, 31, 32, 33, 64, 65}) {
    check(Layer({1, 6, 5, channels}, 7));
    check(Layer({1, 6, 5, 3}, channels));
  }
}

TEST(WinogradConv, BiasAndLimits) {
  Layer layer({1, 9, 9, 8}, 20);
  layer.parameters.min = -3;
  layer.parameters.max = 2;
  check(layer);
  layer.bias.reset();
  check(layer);
}

// More tiles than one strip has; threads with strips of their own, and those that share them.
TEST(WinogradConv, Strips) {
  Layer layer({2, 41, 38, 9}, 40);
  check(layer);
  for (const size_t l2 : {4 << 10, 40 << 10, 200 << 10}) {
    layer.parameters.caches.l2 = l2;
    check(layer);
  }
}

// A row of tiles in several strips, and strips that begin within one.
TEST(WinogradConv, TailTakesPartsOfRows) {
  for (const size_t l2 : {4 << 10, 40 << 10}) {
    for (const Shape& shape : {Shape{1, 5, 150, 3}, {2, 21, 30, 4}, {3, 4, 61, 2}}) {
      Layer layer(shape, 5);
      layer.parameters.caches.l2 = l2;
      check(layer);
    }
  }
}

// The bits of the same image in Float32, where tiles are computed as sums of products, too.
TEST(WinogradConv, ImagesOfBFloat16) {
  for (const float outlier : {1.0f, 1e6f, kNaN, kInfinity}) {
    for (const size_t channels : {1, 7, 16, 33, 64, 65, 150}) {
      Layer layer({2, 11, 10, channels}, 20);
      layer.pixel(1, 4, 5, channels / 2) = outlier;
      layer.x = rounded(layer.x, DType::BFloat16);
      for (const size_t tile : {2, 4}) {
        layer.parameters.tile = tile;
        Layer other = layer;
        other.parameters.input_type = DType::BFloat16;
        other.x = narrowed(layer.x, DType::BFloat16);
        for_each_isa([&] {
          for (const size_t num_threads : {0, 3}) {
            EXPECT_EQ(run_kernel(case_of(other), num_threads).bytes, run_kernel(case_of(layer), num_threads).bytes)
                << isa_name() << ", " << channels << " channels, tiles of " << tile << ", " << outlier;
          }
        });
      }
    }
  }
}

TEST(WinogradConv, Empty) {
  check(Layer({0, 5, 5, 3}, 4));
}

TEST(WinogradConv, ResultsAreThoseOfAnyNumberOfThreads) {
  for (const size_t l2 : {20 << 10, 2 << 20}) {
    for (const size_t tile : {2, 4}) {
      Layer layer({1, 30, 29, 20}, 35);
      layer.parameters.caches.l2 = l2;
      layer.parameters.tile = tile;
      EXPECT_EQ(run_kernel(case_of(layer), 0).bytes, run_kernel(case_of(layer), 3).bytes);
    }
  }
}

// They reach the pixels that see them, and no others.
TEST(WinogradConv, NaNAndInfinity) {
  for (const float value : {kNaN, kInfinity, -kInfinity}) {
    Layer layer({2, 9, 10, 6}, 18);
    layer.pixel(0, 0, 0, 0) = value;
    layer.pixel(0, 4, 5, 2) = value;
    layer.pixel(1, 8, 9, 5) = value;
    layer.weight.data<float>()[7] = 0; // 0 * infinity is NaN
    check(layer);
    layer.parameters.min = -1;
    layer.parameters.max = 1;
    check(layer);
  }
  Layer layer({1, 5, 5, 3}, 4);
  layer.weight.data<float>()[5] = kNaN;
  layer.weight.data<float>()[3 * 27 + 1] = kInfinity;
  check(layer);
  Layer bias({1, 5, 5, 3}, 4);
  bias.bias->data<float>()[2] = kNaN;
  bias.bias->data<float>()[3] = -kInfinity;
  check(bias);
}

// Sums of such pixels overflow, but not their products with the weights.
TEST(WinogradConv, LargestNumbers) {
  Layer layer({1, 8, 8, 2}, 5);
  for (size_t i = 0; i < layer.weight.numel(); ++i) { // products of large pixels are positive: none cancels another
    float& weight = layer.weight.data<float>()[i];
    weight = std::copysign(0.01f * weight, i % 2 == 0 ? 1.0f : -1.0f);
  }
  for (const size_t at : {0, 3, 4, 7}) {
    layer.pixel(0, at, 7 - at, 0) = 3e38f;
    layer.pixel(0, at, 7 - at, 1) = -3e38f;
  }
  check(layer, Tolerance{1e-5f, 1e-5f});
}

// What the rounding of a large pixel adds to pixels that do not see it must not show.
TEST(WinogradConv, LargePixelAmongSmallOnes) {
  for (const float value : {1e3f, 1e6f, 1e12f, 1e30f}) {
    for (size_t row = 0; row < 7; ++row) {
      Layer layer({1, 13, 14, 5}, 6);
      for (size_t i = 0; i < layer.weight.numel(); ++i) {
        float& weight = layer.weight.data<float>()[i]; // a pixel that sees the large one is large
        weight += std::copysign(0.5f, weight);
      }
      layer.pixel(0, row, 2 * row + 1, 3) = value;
      check(layer, Tolerance{value < 1e4f ? 1e-3f : 7e-5f, 1e-4f});
    }
  }
}

double rms(const std::vector<double>& exact, const float* y) {
  double sum = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    sum += (exact[i] - y[i]) * (exact[i] - y[i]);
  }
  return std::sqrt(sum / static_cast<double>(exact.size()));
}

// Against that of a sum of products in Float32.
TEST(WinogradConv, Error) {
  for (const size_t channels : {8, 64, 256}) {
    for (const bool is_wide : {false, true}) {
      Layer layer({1, 12, 12, channels}, 16);
      for (size_t i = 0; is_wide && i < layer.x.numel(); ++i) {
        layer.x.data<float>()[i] *= std::exp2(static_cast<float>(i * 7919 % 21) - 10);
      }
      const std::vector<double> exact = sums_of_products<double>(layer);
      const double direct = rms(exact, sums_of_products<float>(layer).data());
      for (const size_t tile : {2, 4}) {
        layer.parameters.tile = tile;
        const Tensor y = run_kernel(case_of(layer));
        EXPECT_LT(rms(exact, y.data<float>()), direct * (tile == 2 ? 1.25 : 3.5))
            << channels << " channels, tile " << tile;
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
