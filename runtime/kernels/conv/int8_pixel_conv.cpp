// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_pixel_conv.h"

#include <cstring>
#include <utility>

#include "int8_panels.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/int8_pixel_conv.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "int8_results-inl.h"
#include "runtime/kernels/simd/quad_sums-inl.h"

#ifndef ET_XNNPACK_INT8_PIXELS_H
#define ET_XNNPACK_INT8_PIXELS_H
namespace executorch::backends::et_xnnpack {

constexpr size_t kWidestPanel = 64;

// Pixels that are multiplied at once, at most: as many sums as there are registers for.
constexpr size_t tile_pixels(size_t panel_width) {
  return panel_width == kWidestPanel ? 6 : 8;
}

// Pixels side by side, each to be multiplied by all panels.
struct Int8Pixels {
  const int8_t* input;
  size_t depth; // channels of the input, a multiple of kQuad
  const int8_t* panels;
  size_t channels; // of the output
  const int32_t* offsets; // what sums begin with; these and scales are in the order of packed weights
  const float* scales;
  Int8Range range;
  int8_t* output;
};

} // namespace executorch::backends::et_xnnpack
#endif // ET_XNNPACK_INT8_PIXELS_H

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
ETX_BYTE_DOT_BEGIN

using Weights = hn::Repartition<int8_t, Sums>;
using Bytes = hn::RebindToUnsigned<Weights>;

// kPixels pixels from `pixel` on and the panel of `channel`, of kVectors vectors.
template <size_t kPixels, size_t kVectors>
HWY_NOINLINE void multiply(const Int8Pixels& p, size_t pixel, size_t channel) {
  constexpr Sums kSums;
  constexpr Bytes kBytes;
  constexpr Weights kWeights;
  const size_t depth = p.depth;
  const int8_t* HWY_RESTRICT x = p.input + pixel * depth;
  const int8_t* HWY_RESTRICT panel = p.panels + channel * depth;
  QuadSums<Sums> sum[kPixels][kVectors];
  HWY_UNROLL(4)
  for (size_t n = 0; n < kVectors; ++n) {
    const QuadSums<Sums> offset(hn::LoadU(kSums, p.offsets + channel + n * kLeastPanel));
    HWY_UNROLL(8)
    for (size_t i = 0; i < kPixels; ++i) {
      sum[i][n] = offset;
    }
  }
  for (size_t k = 0; k < depth; k += kQuad, x += kQuad, panel += kVectors * kLeastPanel * kQuad) {
    hn::Vec<Weights> w[kVectors];
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      w[n] = hn::LoadU(kWeights, panel + n * kLeastPanel * kQuad);
    }
    HWY_UNROLL(8)
    for (size_t i = 0; i < kPixels; ++i) {
      int32_t quad = 0;
      std::memcpy(&quad, x + i * depth, sizeof(quad));
      // Bytes that are 128 more than the signed ones.
      const auto bytes = hn::Xor(hn::BitCast(kBytes, hn::Set(kSums, quad)), hn::Set(kBytes, uint8_t{128}));
      HWY_UNROLL(4)
      for (size_t n = 0; n < kVectors; ++n) {
        sum[i][n].add(bytes, w[n]);
      }
    }
  }
  const Int8Results results(p.range);
  HWY_UNROLL(8)
  for (size_t i = 0; i < kPixels; ++i) {
    hn::Vec<Sums> y[kVectors];
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      y[n] = sum[i][n].get();
    }
    results.store(y, p.scales + channel, p.channels - channel, p.output + (pixel + i) * p.channels + channel);
  }
}

template <size_t kVectors, size_t... kLess>
void multiply_tile(
    const Int8Pixels& p, size_t pixel, size_t count, size_t channel, std::index_sequence<kLess...> /*up_to_most*/) {
  static constexpr void (*kMultiply[])(const Int8Pixels&, size_t, size_t) = {multiply<kLess + 1, kVectors>...};
  kMultiply[count - 1](p, pixel, channel);
}

template <size_t kVectors>
void multiply_panel(const Int8Pixels& p, size_t begin, size_t end, size_t channel) {
  constexpr size_t kMost = tile_pixels(kVectors * kLeastPanel);
  for_each_tile(end - begin, kMost, [&](size_t /*index*/, size_t first, size_t last) {
    multiply_tile<kVectors>(p, begin + first, last - first, channel, std::make_index_sequence<kMost>());
  });
}

void int8_pixels_by_vnni(const Int8Pixels& p, size_t begin, size_t end) {
  for (size_t channel = 0; channel < p.channels;) {
    const size_t width = panel_width(p.channels - channel, kWidestPanel);
    (width == 64 ? multiply_panel<4> : width == 32 ? multiply_panel<2> : multiply_panel<1>)(p, begin, end, channel);
    channel += width;
  }
}

ETX_BYTE_DOT_END
#endif // HWY_AVX3

void int8_pixels(const Int8Pixels& p, size_t begin, size_t end) {
#if HWY_TARGET == HWY_AVX3
  if (has_byte_dot()) {
    return int8_pixels_by_vnni(p, begin, end);
  }
#endif
  for (size_t pixel = begin; pixel < end; ++pixel) {
    const int8_t* const x = p.input + pixel * p.depth;
    int8_t* y = p.output + pixel * p.channels;
    for_each_channel_of_panels(p.channels, kWidestPanel, [&](size_t panel, size_t width, size_t place) {
      const int8_t* const weight = p.panels + panel * p.depth + place * kQuad;
      auto sum = static_cast<uint32_t>(p.offsets[panel + place]); // wraps around, as in vectors
      for (size_t k = 0; k < p.depth; ++k) {
        sum += static_cast<uint32_t>((x[k] + 128) * weight[k / kQuad * kQuad * width + k % kQuad]);
      }
      *y++ =
          finish_int8(static_cast<int32_t>(sum), p.scales[panel + place], p.range.zero_point, p.range.min, p.range.max);
    });
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(int8_pixels);

namespace {

constexpr size_t kBlockPixels = 72; // at most, that meet all panels, from a cache of the first level
constexpr size_t kGrain = 65536; // multiplications

size_t panels_bytes(const Shape& weight) {
  return padded_channels_of_panels(weight[0]) * weight[3];
}

} // namespace

bool Int8PixelConv::has(const Int8ConvParameters& p) {
  return p.weight[1] * p.weight[2] == 1 && p.weight[3] == p.input[3] && p.weight[3] % kQuad == 0 &&
      p.height.stride == 1 && p.width.stride == 1 && p.input[1] == p.output[1] && p.input[2] == p.output[2] &&
      p.height.padding == 0 && p.width.padding == 0;
}

std::optional<std::string> Int8PixelConv::packed_layout(const Int8ConvParameters& /*p*/, size_t i) {
  switch (i) {
    case 1:
      return "Int8 panels of quads, sums";
    case 2:
      return "Int32 in panels";
    default:
      return std::nullopt;
  }
}

size_t Int8PixelConv::packed_bytes(const Int8ConvParameters& p, size_t i) {
  return (i == 1 ? panels_bytes(p.weight) : 0) + padded_channels_of_panels(p.weight[0]) * sizeof(int32_t);
}

Status Int8PixelConv::pack(const Int8ConvParameters& p, size_t i, const void* original, void* packed) {
  std::memset(packed, 0, packed_bytes(p, i));
  const size_t channels = p.weight[0];
  if (i == 2) {
    pack_into_panels(static_cast<const int32_t*>(original), channels, kWidestPanel, static_cast<int32_t*>(packed));
    return {};
  }
  auto* const panels = static_cast<int8_t*>(packed);
  auto* const sums = reinterpret_cast<int32_t*>(panels + panels_bytes(p.weight));
  pack_into_panels(static_cast<const int8_t*>(original), channels, /*rows=*/1, p.weight[3], kWidestPanel, panels, sums);
  return {};
}

size_t Int8PixelConv::reshape(const Int8ConvParameters& p, size_t /*num_threads*/) {
  parameters_ = p;
  sums_.assign(p, padded_channels_of_panels(p.weight[0]), [&](const auto& function) {
    for_each_channel_of_panels(
        p.weight[0], kWidestPanel, [&](size_t panel, size_t /*width*/, size_t place) { function(panel + place); });
  });
  return sums_.bytes();
}

void Int8PixelConv::run(const KernelArguments& arguments) {
  const Int8ConvParameters& p = parameters_;
  Int8Pixels pixels{};
  pixels.input = arguments.input<int8_t>(0);
  pixels.depth = p.weight[3];
  pixels.panels = arguments.input<int8_t>(1);
  pixels.channels = p.weight[0];
  pixels.scales = sums_.scales();
  pixels.range = {p.output_zero_point, p.min, p.max};
  pixels.output = arguments.output<int8_t>(0);
  const auto* const sums = reinterpret_cast<const int32_t*>(pixels.panels + panels_bytes(p.weight));
  auto* const offsets = static_cast<int32_t*>(arguments.scratch);
  sums_.begin(p, arguments.input<int32_t>(2), sums, offsets);
  pixels.offsets = offsets;
  const size_t count = p.output.numel(0, 3);
  const size_t threads = threads_of(arguments.pool);
  const size_t blocks = round_up(divide_up(count, kBlockPixels), threads); // some may be empty
  const auto multiply = ETX_DISPATCH(int8_pixels);
  const size_t work = count * pixels.depth * pixels.channels / (blocks + 1);
  parallel_for(arguments.pool, blocks, kGrain / (work + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      multiply(pixels, count * i / blocks, count * (i + 1) / blocks);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
