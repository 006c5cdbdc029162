// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_grouped_conv.h"

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
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/int8_grouped_conv.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "int8_results-inl.h"
#include "runtime/kernels/simd/quad_sums-inl.h"

#ifndef ET_XNNPACK_INT8_GROUPS_H
#define ET_XNNPACK_INT8_GROUPS_H
namespace executorch::backends::et_xnnpack {

// Channels are packed in panels of kPanel, the last of which is filled up with zeros. For each row of the window and
// each quad of a group, a panel has kVectors times a vector of weights for each column: lane i of vector n has a quad
// of the channel whose place in the panel is n * kLeastPanel + i.
constexpr size_t kPanel = 64, kVectors = kPanel / kLeastPanel;
constexpr size_t kColumns = 3; // of windows
constexpr size_t kMostPixels = 7; // that are convolved at once: as many sums as there are registers for

// Some rows and columns of the output of one image. Bytes of the image are 128 more than the signed ones.
struct Int8Groups {
  const uint8_t* input; // what the windows see
  size_t row_bytes; // from one row of the image to the next
  size_t channels;
  size_t rows, columns, output_width; // of the output
  size_t stride_height, stride_width;
  size_t window_rows, quads; // the last ones of a group
  const uint8_t* lanes; // [quads, kVectors, kPanel]: where in its 16 channels of the input each byte is
  const int8_t* weight;
  const int32_t* offsets; // what sums begin with; these and scales are in the order of packed weights
  const float* scales;
  Int8Range range;
  int8_t* output;

  size_t weight_bytes() const { // of a channel
    return window_rows * quads * kColumns * kQuad;
  }
};

} // namespace executorch::backends::et_xnnpack
#endif // ET_XNNPACK_INT8_GROUPS_H

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
ETX_BYTE_DOT_BEGIN

// kPixels neighbouring pixels of the output and the panel of `channel`.
template <size_t kPixels, size_t kStride>
HWY_NOINLINE void convolve(const Int8Groups& g, size_t row, size_t column, size_t channel) {
  using Weights = hn::Repartition<int8_t, Sums>;
  using Bytes = hn::RebindToUnsigned<Weights>;
  constexpr size_t kSeen = (kPixels - 1) * kStride + kColumns;
  constexpr Sums kSums;
  constexpr Weights kWeights;
  constexpr Bytes kBytes;
  QuadSums<Sums> sum[kPixels][kVectors];
  HWY_UNROLL(4)
  for (size_t n = 0; n < kVectors; ++n) {
    const QuadSums<Sums> offset(hn::LoadU(kSums, g.offsets + channel + n * kLeastPanel));
    HWY_UNROLL(7)
    for (size_t i = 0; i < kPixels; ++i) {
      sum[i][n] = offset;
    }
  }
  const size_t channels = g.channels;
  const uint8_t* HWY_RESTRICT x = g.input + row * g.stride_height * g.row_bytes + column * kStride * channels + channel;
  const int8_t* HWY_RESTRICT weight = g.weight + channel * g.weight_bytes();
  for (size_t r = g.window_rows; r > 0; --r, x += g.row_bytes) {
    const uint8_t* HWY_RESTRICT lanes = g.lanes;
    for (size_t q = g.quads; q > 0; --q) {
      HWY_UNROLL(4)
      for (size_t n = 0; n < kVectors; ++n, lanes += kPanel, weight += kColumns * kPanel) {
        const auto places = hn::LoadU(kBytes, lanes);
        hn::Vec<Weights> w[kColumns];
        HWY_UNROLL(3)
        for (size_t c = 0; c < kColumns; ++c) {
          w[c] = hn::LoadU(kWeights, weight + c * kPanel);
        }
        HWY_UNROLL(15)
        for (size_t j = 0; j < kSeen; ++j) {
          const auto quads = hn::TableLookupBytes(hn::LoadU(kBytes, x + j * channels), places);
          HWY_UNROLL(3)
          for (size_t c = 0; c < kColumns; ++c) {
            if (j >= c && (j - c) % kStride == 0 && (j - c) / kStride < kPixels) {
              sum[(j - c) / kStride][n].add(quads, w[c]);
            }
          }
        }
      }
    }
  }
  const Int8Results results(g.range);
  HWY_UNROLL(7)
  for (size_t i = 0; i < kPixels; ++i) {
    hn::Vec<Sums> y[kVectors];
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      y[n] = sum[i][n].get();
    }
    int8_t* const to = g.output + (row * g.output_width + column + i) * channels + channel;
    results.store(y, g.scales + channel, channels - channel, to);
  }
}

template <size_t kStride, size_t... kLess>
void convolve_panel(const Int8Groups& g, size_t channel, std::index_sequence<kLess...> /*up_to_most*/) {
  static constexpr void (*kConvolve[])(const Int8Groups&, size_t, size_t, size_t) = {convolve<kLess + 1, kStride>...};
  for (size_t row = 0; row < g.rows; ++row) {
    for_each_tile(g.columns, kMostPixels, [&](size_t /*index*/, size_t begin, size_t end) {
      kConvolve[end - begin - 1](g, row, begin, channel);
    });
  }
}

void convolve_by_vnni(const Int8Groups& g) {
  constexpr std::make_index_sequence<kMostPixels> kCounts;
  for (size_t channel = 0; channel < g.channels; channel += kPanel) {
    g.stride_width == 1 ? convolve_panel<1>(g, channel, kCounts) : convolve_panel<2>(g, channel, kCounts);
  }
}

ETX_BYTE_DOT_END
#endif // HWY_AVX3

void convolve_int8_groups(const Int8Groups& g) {
#if HWY_TARGET == HWY_AVX3
  if (has_byte_dot()) {
    return convolve_by_vnni(g);
  }
#endif
  for (size_t pixel = 0; pixel < g.rows * g.columns; ++pixel) {
    const size_t output_row = pixel / g.columns, output_column = pixel % g.columns;
    const size_t row = output_row * g.stride_height, column = output_column * g.stride_width;
    int8_t* y = g.output + (output_row * g.output_width + output_column) * g.channels;
    for (size_t channel = 0; channel < g.channels; ++channel) {
      const size_t panel = channel / kPanel * kPanel, place = place_in_panel(channel % kPanel, kPanel);
      const size_t block = channel / kLeastPanel * kLeastPanel;
      const int8_t* weight = g.weight + panel * g.weight_bytes();
      const uint8_t* x = g.input + row * g.row_bytes + column * g.channels + block;
      auto sum = static_cast<uint32_t>(g.offsets[panel + place]); // wraps around, as in vectors
      for (size_t r = 0; r < g.window_rows; ++r, x += g.row_bytes) {
        for (size_t q = 0; q < g.quads; ++q, weight += kVectors * kColumns * kPanel) {
          for (size_t i = 0; i < kColumns * kQuad; ++i) {
            const size_t c = i / kQuad, byte = place % kLeastPanel * kQuad + i % kQuad;
            const size_t vector = place / kLeastPanel;
            const uint8_t of_pixel = x[c * g.channels + g.lanes[(q * kVectors + vector) * kPanel + byte]];
            sum += static_cast<uint32_t>(of_pixel * weight[(vector * kColumns + c) * kPanel + byte]);
          }
        }
      }
      *y++ =
          finish_int8(static_cast<int32_t>(sum), g.scales[panel + place], g.range.zero_point, g.range.min, g.range.max);
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(convolve_int8_groups);

namespace {

size_t padded_channels(const Shape& weight) {
  return round_up(weight[0], kPanel);
}

size_t quads_of(const Shape& weight) {
  return divide_up(weight[3], kQuad);
}

size_t weight_bytes(const Shape& weight) {
  return padded_channels(weight) * weight[1] * quads_of(weight) * kColumns * kQuad;
}

// Calls function(begin of the panel, place in it) for each channel in turn.
template <typename Function>
void for_each_channel(size_t channels, const Function& function) {
  for (size_t channel = 0; channel < channels; ++channel) {
    function(channel / kPanel * kPanel, place_in_panel(channel % kPanel, kPanel));
  }
}

} // namespace

bool Int8GroupedConv::has(const Int8ConvParameters& p) {
  const size_t group = p.weight[3];
  return p.weight[0] == p.input[3] && group > 1 && group <= kLeastPanel && kLeastPanel % group == 0 &&
      p.weight[2] == kColumns && p.width.stride <= 2;
}

std::optional<std::string> Int8GroupedConv::packed_layout(const Int8ConvParameters& /*p*/, size_t i) {
  switch (i) {
    case 1:
      return "Int8 panels of rows of windows and quads of groups, sums";
    case 2:
      return "Int32 in panels of groups";
    default:
      return std::nullopt;
  }
}

size_t Int8GroupedConv::packed_bytes(const Int8ConvParameters& p, size_t i) {
  return (i == 1 ? weight_bytes(p.weight) : 0) + padded_channels(p.weight) * sizeof(int32_t);
}

Status Int8GroupedConv::pack(const Int8ConvParameters& p, size_t i, const void* original, void* packed) {
  std::memset(packed, 0, packed_bytes(p, i));
  if (i == 2) {
    const auto* bias = static_cast<const int32_t*>(original);
    for_each_channel(
        p.weight[0], [&](size_t panel, size_t place) { static_cast<int32_t*>(packed)[panel + place] = *bias++; });
    return {};
  }
  const size_t rows = p.weight[1], group = p.weight[3], quads = quads_of(p.weight);
  const auto* from = static_cast<const int8_t*>(original);
  auto* const weight = static_cast<int8_t*>(packed);
  auto* const sums = reinterpret_cast<int32_t*>(weight + weight_bytes(p.weight));
  for_each_channel(p.weight[0], [&](size_t panel, size_t place) {
    int8_t* const of_panel = weight + panel * rows * quads * kColumns * kQuad;
    const size_t vector = place / kLeastPanel, lane = place % kLeastPanel;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t tap = 0; tap < kColumns * group; ++tap, ++from) {
        const size_t c = tap / group, k = tap % group;
        const size_t of_column = ((r * quads + k / kQuad) * kVectors + vector) * kColumns + c;
        of_panel[of_column * kPanel + lane * kQuad + k % kQuad] = *from;
        sums[panel + place] += *from;
      }
    }
  });
  return {};
}

size_t Int8GroupedConv::reshape(const Int8ConvParameters& p, size_t num_threads) {
  parameters_ = p;
  sums_.assign(p, padded_channels(p.weight), [&](const auto& function) {
    for_each_channel(p.weight[0], [&](size_t panel, size_t place) { function(panel + place); });
  });
  const size_t group = p.weight[3];
  lanes_.assign(quads_of(p.weight) * kPanel * kVectors, 0);
  for (size_t channel = 0; channel < kPanel; ++channel) {
    const size_t place = place_in_panel(channel, kPanel);
    for (size_t k = 0; k < group; ++k) {
      lanes_[k / kQuad * kPanel * kVectors + place * kQuad + k % kQuad] =
          static_cast<uint8_t>(channel % kLeastPanel / group * group + k);
    }
  }
  const auto staged_bytes = [&](size_t rows, size_t columns) {
    const SeenPixels seen_rows(0, rows, p.weight[1], p.height, p.input[1]);
    const SeenPixels seen_columns(0, columns, p.weight[2], p.width, p.input[2]);
    return Int8Stage::bytes(p, seen_rows, seen_columns);
  };
  const size_t room = Caches::get().l2 / 2;
  parts_ = ImageParts(p.output, num_threads, kMostPixels, [&](size_t rows, size_t columns) {
    return staged_bytes(rows, columns) <= room;
  });
  offsets_bytes_ = round_up_to_alignment(sums_.bytes());
  thread_bytes_ = parts_.size() == 0 ? 0 : round_up_to_alignment(staged_bytes(parts_.rows(), parts_.columns()));
  return offsets_bytes_ + num_threads * thread_bytes_;
}

void Int8GroupedConv::run(const KernelArguments& arguments) {
  const Int8ConvParameters& p = parameters_;
  auto* const scratch = static_cast<uint8_t*>(arguments.scratch);
  Int8Groups common{};
  common.channels = p.weight[0];
  common.output_width = p.output[2];
  common.stride_height = p.height.stride;
  common.stride_width = p.width.stride;
  common.window_rows = p.weight[1];
  common.quads = quads_of(p.weight);
  common.lanes = lanes_.data();
  common.weight = arguments.input<int8_t>(1);
  common.scales = sums_.scales();
  common.range = {p.output_zero_point, p.min, p.max};
  auto* const offsets = reinterpret_cast<int32_t*>(scratch);
  const auto* const weight_sums = reinterpret_cast<const int32_t*>(common.weight + weight_bytes(p.weight));
  sums_.begin(p, arguments.input<int32_t>(2), weight_sums, offsets);
  common.offsets = offsets;
  const auto convolve = ETX_DISPATCH(convolve_int8_groups);
  const Int8Stage stage(p);
  const auto* const images = arguments.input<int8_t>(0);
  auto* const output = arguments.output<int8_t>(0);
  parallel_for_with_thread(arguments.pool, parts_.size(), [&](size_t thread, size_t i) {
    const ImageParts::Part part = parts_[i];
    const SeenPixels seen_rows(part.row, part.rows, p.weight[1], p.height, p.input[1]);
    const SeenPixels seen_columns(part.column, part.columns, p.weight[2], p.width, p.input[2]);
    uint8_t* const staged = scratch + offsets_bytes_ + thread * thread_bytes_;
    stage.write(images + part.image * p.input.numel(1, 4), seen_rows, seen_columns, staged);
    Int8Groups groups = common;
    groups.input = staged;
    groups.row_bytes = seen_columns.count * p.input[3];
    groups.rows = part.rows;
    groups.columns = part.columns;
    groups.output = output + ((part.image * p.output[1] + part.row) * p.output[2] + part.column) * p.weight[0];
    convolve(groups);
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
