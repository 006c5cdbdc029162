// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_block_conv.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "int8_panels.h"
#include "int8_stage.h"
#include "runtime/base/caches.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/int8_block_conv.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "int8_results-inl.h"
#include "runtime/kernels/simd/quad_sums-inl.h"

#ifndef ET_XNNPACK_INT8_BLOCK_H
#define ET_XNNPACK_INT8_BLOCK_H
namespace executorch::backends::et_xnnpack {

// Pixels that are multiplied at once by a panel, at most: as many sums as there are registers for.
constexpr size_t tile_pixels(size_t vectors) {
  return vectors == 4 ? 6 : 12;
}

// Some pixels and some panels. Bytes of the image are 128 more than the signed ones.
struct Int8Block {
  const uint8_t* input; // what the windows see
  const size_t* pixel_offsets; // where the window of each pixel begins
  size_t pixels;
  size_t window_rows, row_bytes; // from one row of a window to the next
  size_t row_depth; // numbers of a row of a window, a multiple of kQuad; weights past its end are 0
  const int8_t* panels; // of all channels
  size_t widest_panel;
  size_t channel, end_channel;
  size_t channels; // of the output
  const int32_t* offsets; // what sums begin with; these and scales are in the order of packed weights
  const float* scales;
  Int8Range range;
  int8_t* output; // of the first pixel, all channels
  bool fetches_weights; // of the next panel

  size_t depth() const {
    return window_rows * row_depth;
  }
};

} // namespace executorch::backends::et_xnnpack
#endif // ET_XNNPACK_INT8_BLOCK_H

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
ETX_BYTE_DOT_BEGIN

constexpr size_t kAhead = 1024; // bytes of a panel that are in the first-level cache before they are read

// A part of the next panel is fetched into the second-level cache by each of so many tiles.
constexpr size_t kFetchingTiles = 4;

// kPixels pixels from `pixel` on and the panel of `channel`, of kVectors vectors.
template <size_t kPixels, size_t kVectors, bool kFetches>
HWY_NOINLINE void multiply(const Int8Block& b, size_t pixel, size_t channel, const int8_t* fetched) {
  using Weights = hn::Repartition<int8_t, Sums>;
  using Quads = hn::RebindToUnsigned<Weights>;
  constexpr Sums kSums;
  constexpr Weights kWeights;
  constexpr Quads kQuads;
  constexpr size_t kStep = kVectors * kLeastPanel * kQuad, kFetchedBytes = kStep / kFetchingTiles; // for a quad
  QuadSums<Sums> sum[kPixels][kVectors];
  HWY_UNROLL(4)
  for (size_t n = 0; n < kVectors; ++n) {
    const QuadSums<Sums> offset(hn::LoadU(kSums, b.offsets + channel + n * kLeastPanel));
    HWY_UNROLL(12)
    for (size_t i = 0; i < kPixels; ++i) {
      sum[i][n] = offset;
    }
  }
  if (channel + kVectors * kLeastPanel < b.end_channel) { // where the same pixels go next
    HWY_UNROLL(12)
    for (size_t i = 0; i < kPixels; ++i) {
      __builtin_prefetch(b.output + (pixel + i) * b.channels + channel + kVectors * kLeastPanel, 1, 3);
    }
  }
  // Of the end of a row of the window, from which k counts: so loops need as few registers as there are.
  const uint8_t* x[kPixels];
  HWY_UNROLL(12)
  for (size_t i = 0; i < kPixels; ++i) {
    x[i] = b.input + b.pixel_offsets[pixel + i] + b.row_depth;
  }
  const int8_t* HWY_RESTRICT panel = b.panels + channel * b.depth();
  const auto begin = -static_cast<ptrdiff_t>(b.row_depth);
  const size_t row_bytes = b.row_bytes;
  fetched += kFetchedBytes * b.row_depth / kQuad;
  for (size_t row = b.window_rows; row > 0; --row) {
    for (ptrdiff_t k = begin; k != 0; k += kQuad, panel += kStep) {
      if constexpr (kFetches) {
        __builtin_prefetch(fetched + k * static_cast<ptrdiff_t>(kFetchedBytes / kQuad), 0, 2);
      }
      HWY_UNROLL(4)
      for (size_t n = 0; n < kVectors; ++n) {
        __builtin_prefetch(panel + kAhead + n * kLeastPanel * kQuad, 0, 3);
      }
      hn::Vec<Weights> w[kVectors];
      HWY_UNROLL(4)
      for (size_t n = 0; n < kVectors; ++n) {
        w[n] = hn::LoadU(kWeights, panel + n * kLeastPanel * kQuad);
      }
      HWY_UNROLL(12)
      for (size_t i = 0; i < kPixels; ++i) {
        int32_t quad = 0;
        std::memcpy(&quad, x[i] + k, sizeof(quad));
        const auto bytes = hn::BitCast(kQuads, hn::Set(kSums, quad));
        HWY_UNROLL(4)
        for (size_t n = 0; n < kVectors; ++n) {
          sum[i][n].add(bytes, w[n]);
        }
      }
    }
    HWY_UNROLL(12)
    for (size_t i = 0; i < kPixels; ++i) {
      x[i] += row_bytes;
    }
    fetched += kFetchedBytes * b.row_depth / kQuad;
  }
  const Int8Results results(b.range);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kPixels; ++i) {
    hn::Vec<Sums> y[kVectors];
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      y[n] = sum[i][n].get();
    }
    results.store(y, b.scales + channel, b.channels - channel, b.output + (pixel + i) * b.channels + channel);
  }
}

using Multiply = void (*)(const Int8Block&, size_t, size_t, const int8_t*);

// By the number of pixels less 1.
template <size_t kVectors, bool kFetches, size_t... kLess>
const Multiply* tiles_table(std::index_sequence<kLess...> /*up_to_most*/) {
  static constexpr Multiply kTable[] = {multiply<kLess + 1, kVectors, kFetches>...};
  return kTable;
}

template <size_t kVectors>
void multiply_panel(const Int8Block& b, size_t channel) {
  constexpr size_t kWidth = kVectors * kLeastPanel, kMost = tile_pixels(kVectors);
  constexpr std::make_index_sequence<kMost> kCounts;
  const int8_t* next = b.panels + (channel + kWidth) * b.depth();
  const bool fetches = b.fetches_weights && channel + kWidth < b.end_channel;
  for_each_tile(b.pixels, kMost, [&](size_t i, size_t begin, size_t end) {
    const bool is_fetching = fetches && i < kFetchingTiles;
    const Multiply* const multiply =
        is_fetching ? tiles_table<kVectors, true>(kCounts) : tiles_table<kVectors, false>(kCounts);
    multiply[end - begin - 1](b, begin, channel, next);
    next += kWidth / kFetchingTiles * b.depth();
  });
}

void multiply_by_vnni(const Int8Block& b) {
  for (size_t channel = b.channel; channel < b.end_channel;) {
    const size_t width = panel_width(b.channels - channel, b.widest_panel);
    (width == 64 ? multiply_panel<4> : width == 32 ? multiply_panel<2> : multiply_panel<1>)(b, channel);
    channel += width;
  }
}

ETX_BYTE_DOT_END
#endif // HWY_AVX3

void multiply_int8_block(const Int8Block& b) {
#if HWY_TARGET == HWY_AVX3
  if (has_byte_dot()) {
    return multiply_by_vnni(b);
  }
#endif
  for (size_t pixel = 0; pixel < b.pixels; ++pixel) {
    int8_t* y = b.output + pixel * b.channels;
    for_each_channel_of_panels(b.channels, b.widest_panel, [&](size_t panel, size_t width, size_t place) {
      int8_t& result = *y++;
      if (panel < b.channel || panel >= b.end_channel) {
        return;
      }
      const int8_t* weight = b.panels + panel * b.depth() + place * kQuad;
      const uint8_t* x = b.input + b.pixel_offsets[pixel];
      auto sum = static_cast<uint32_t>(b.offsets[panel + place]); // wraps around, as in vectors
      for (size_t row = 0; row < b.window_rows; ++row, x += b.row_bytes) {
        for (size_t k = 0; k < b.row_depth; k += kQuad, weight += width * kQuad) {
          for (size_t i = 0; i < kQuad; ++i) {
            sum += static_cast<uint32_t>(x[k + i] * weight[i]);
          }
        }
      }
      result =
          finish_int8(static_cast<int32_t>(sum), b.scales[panel + place], b.range.zero_point, b.range.min, b.range.max);
    });
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_int8_block);

namespace {

constexpr size_t kMaxPixels = 240, kPixelStep = 12; // of a part: whole tiles

size_t row_depth(const Shape& weight) {
  return round_up(weight[2] * weight[3], kQuad);
}

size_t panels_bytes(const Shape& weight) {
  return padded_channels_of_panels(weight[0]) * weight[1] * row_depth(weight);
}

// Wide ones write whole cache lines, narrow ones are read half as often. Sums of shallow products are written soon
// after they began; small weights stay in the second-level cache.
size_t widest_panel(const Shape& weight) {
  constexpr size_t kShallow = 256, kMaxWide = 576, kSmallBytes = 256 << 10;
  const size_t depth = weight[1] * row_depth(weight);
  return depth <= kShallow || (depth <= kMaxWide && panels_bytes(weight) <= kSmallBytes) ? 64 : 32;
}

// The same with all pixels in a row, if each is convolved by itself.
Int8ConvParameters in_a_row(Int8ConvParameters p) {
  const bool by_itself = p.weight[1] * p.weight[2] == 1 && p.height.stride == 1 && p.width.stride == 1 &&
      p.height.padding == 0 && p.width.padding == 0 && p.input[1] == p.output[1] && p.input[2] == p.output[2];
  if (by_itself) {
    p.input = {1, 1, p.input.numel(0, 3), p.input[3]};
    p.output = {1, 1, p.output.numel(0, 3), p.output[3]};
  }
  return p;
}

} // namespace

std::optional<std::string> Int8BlockConv::packed_layout(const Int8ConvParameters& p, size_t i) {
  switch (i) {
    case 1:
      return "Int8 panels of " + std::to_string(widest_panel(p.weight)) + ", quads of rows of windows, sums";
    case 2:
      return "Int32 in panels of " + std::to_string(widest_panel(p.weight));
    default:
      return std::nullopt;
  }
}

size_t Int8BlockConv::packed_bytes(const Int8ConvParameters& p, size_t i) {
  return (i == 1 ? panels_bytes(p.weight) : 0) + padded_channels_of_panels(p.weight[0]) * sizeof(int32_t);
}

Status Int8BlockConv::pack(const Int8ConvParameters& p, size_t i, const void* original, void* packed) {
  std::memset(packed, 0, packed_bytes(p, i));
  const size_t widest = widest_panel(p.weight);
  if (i == 2) {
    pack_into_panels(static_cast<const int32_t*>(original), p.weight[0], widest, static_cast<int32_t*>(packed));
    return {};
  }
  auto* const panels = static_cast<int8_t*>(packed);
  auto* const sums = reinterpret_cast<int32_t*>(panels + panels_bytes(p.weight));
  const size_t columns = p.weight[2] * p.weight[3];
  pack_into_panels(static_cast<const int8_t*>(original), p.weight[0], p.weight[1], columns, widest, panels, sums);
  return {};
}

Int8BlockConv::Parts Int8BlockConv::divide(size_t num_threads) const {
  const Int8ConvParameters& p = parameters_;
  const size_t height = p.output[1], width = p.output[2];
  Parts parts;
  // Bytes of the columns and of the rows that so many windows see.
  const auto bytes = [&](size_t rows, size_t columns) {
    return ((rows - 1) * p.height.stride + p.weight[1]) * ((columns - 1) * p.width.stride + p.weight[2]) * p.input[3];
  };
  const size_t room = Caches::get().l2 / 2, wanted = num_threads > 1 ? 4 * num_threads : 1;
  // Parts of the same pixels copy what they see each for itself; those of the same panels read weights again.
  const bool reads_weights_again = panels_bytes(p.weight) <= room;
  const size_t share = round_up(divide_up(p.output.numel(0, 3), wanted), kPixelStep);
  const size_t most = reads_weights_again ? std::clamp(share, 2 * kPixelStep, kMaxPixels) : kMaxPixels;
  parts.rows = std::clamp<size_t>(most / std::max<size_t>(width, 1), 1, std::max<size_t>(height, 1));
  parts.columns = width;
  while (parts.rows > 1 && bytes(parts.rows, width) > room) {
    --parts.rows;
  }
  if (parts.rows == 1) {
    parts.columns = std::min(width, most);
    while (parts.columns > kPixelStep && bytes(1, parts.columns) > room) {
      parts.columns -= kPixelStep;
    }
  }
  // As even parts as possible of at most `largest`, and how many.
  const auto divide_evenly = [](size_t count, size_t& largest, size_t& number) {
    number = divide_up(count, std::max<size_t>(largest, 1));
    largest = number == 0 ? 0 : divide_up(count, number);
    number = number == 0 ? 0 : divide_up(count, largest);
  };
  divide_evenly(height, parts.rows, parts.row_parts);
  divide_evenly(width, parts.columns, parts.column_parts);
  parts.pixels = parts.rows * parts.columns;
  const size_t panels = divide_up(p.weight[0], widest_panel(p.weight));
  const size_t blocks = p.output[0] * parts.row_parts * parts.column_parts;
  parts.panels = divide_up(panels, divide_up(wanted, std::max<size_t>(blocks, 1)));
  divide_evenly(panels, parts.panels, parts.panel_parts);
  return parts;
}

size_t Int8BlockConv::staged_bytes() const {
  const Int8ConvParameters& p = parameters_;
  if (parts_.pixels == 0) {
    return 0;
  }
  const SeenPixels rows(0, parts_.rows, p.weight[1], p.height, p.input[1]);
  const SeenPixels columns(0, parts_.columns, p.weight[2], p.width, p.input[2]);
  return Int8Stage::bytes(p, rows, columns);
}

size_t Int8BlockConv::reshape(const Int8ConvParameters& p, size_t num_threads) {
  parameters_ = in_a_row(p);
  sums_.assign(p, padded_channels_of_panels(p.weight[0]), [&](const auto& function) {
    for_each_channel_of_panels(p.weight[0], widest_panel(p.weight), [&](size_t panel, size_t /*width*/, size_t place) {
      function(panel + place);
    });
  });
  parts_ = divide(num_threads);
  offsets_bytes_ = round_up_to_alignment(sums_.bytes());
  thread_bytes_ = round_up_to_alignment(parts_.pixels * sizeof(size_t)) + round_up_to_alignment(staged_bytes());
  return offsets_bytes_ + num_threads * thread_bytes_;
}

void Int8BlockConv::run(const KernelArguments& arguments) {
  const Int8ConvParameters& p = parameters_;
  const Parts& parts = parts_;
  auto* const scratch = static_cast<uint8_t*>(arguments.scratch);
  Int8Block common{};
  common.window_rows = p.weight[1];
  common.row_depth = row_depth(p.weight);
  common.panels = arguments.input<int8_t>(1);
  common.widest_panel = widest_panel(p.weight);
  common.channels = p.weight[0];
  common.scales = sums_.scales();
  common.range = {p.output_zero_point, p.min, p.max};
  common.fetches_weights = panels_bytes(p.weight) > Caches::get().l2 / 4;
  auto* const offsets = reinterpret_cast<int32_t*>(scratch);
  sums_.begin(
      p,
      arguments.input<int32_t>(2),
      reinterpret_cast<const int32_t*>(common.panels + panels_bytes(p.weight)),
      offsets);
  common.offsets = offsets;
  const auto multiply = ETX_DISPATCH(multiply_int8_block);
  const Int8Stage stage(p);
  const auto* const images = arguments.input<int8_t>(0);
  auto* const output = arguments.output<int8_t>(0);
  const size_t count = p.output[0] * parts.row_parts * parts.column_parts * parts.panel_parts;
  parallel_for_with_thread(arguments.pool, count, [&](size_t thread, size_t i) {
    Int8Block block = common;
    const size_t panel = i % parts.panel_parts * parts.panels;
    i /= parts.panel_parts;
    const size_t column = i % parts.column_parts * parts.columns;
    i /= parts.column_parts;
    const size_t row = i % parts.row_parts * parts.rows, image = i / parts.row_parts;
    const size_t rows = std::min(parts.rows, p.output[1] - row),
                 columns = std::min(parts.columns, p.output[2] - column);
    const SeenPixels seen_rows(row, rows, p.weight[1], p.height, p.input[1]);
    const SeenPixels seen_columns(column, columns, p.weight[2], p.width, p.input[2]);
    uint8_t* const of_thread = scratch + offsets_bytes_ + thread * thread_bytes_;
    auto* const pixel_offsets = reinterpret_cast<size_t*>(of_thread);
    uint8_t* const staged = of_thread + round_up_to_alignment(parts.pixels * sizeof(size_t));
    stage.write(images + image * p.input.numel(1, 4), seen_rows, seen_columns, staged);
    block.row_bytes = seen_columns.count * p.input[3];
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        pixel_offsets[r * columns + c] = r * p.height.stride * block.row_bytes + c * p.width.stride * p.input[3];
      }
    }
    block.input = staged;
    block.pixel_offsets = pixel_offsets;
    block.pixels = rows * columns;
    block.channel = panel * block.widest_panel;
    block.end_channel = std::min((panel + parts.panels) * block.widest_panel, p.weight[0]);
    block.output = output + ((image * p.output[1] + row) * p.output[2] + column) * p.weight[0];
    multiply(block);
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
