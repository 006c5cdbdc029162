// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "depthwise_row.h"

#include <algorithm>
#include <type_traits>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/depthwise_row.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "image_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kEdgeVectors = 4;
// For the oldest vectors of x86 it is much code.
constexpr bool kHasRuns = kLanes >= 8 || HWY_ARCH_ARM_A64;

bool is_wide(const Depthwise::Axis& width) {
  return width.kernel > 7 && width.stride == 1;
}

bool has_runs(const Depthwise::Axis& width) {
  const bool has_stride = width.stride == 1 || (width.stride == 2 && width.kernel < 7);
  const bool has_kernel = (width.kernel == 3 || width.kernel == 5 || width.kernel == 7) && has_stride;
  return kHasRuns && width.dilation == 1 && (has_kernel || is_wide(width));
}

// kCount neighbouring pixels of N vectors of channels, all of which see the same taps. A partial
// vector holds the last channels.
template <typename Image, typename Weights, size_t kCount, size_t N, bool kPartial>
HWY_NOINLINE void convolve(
    const Depthwise& conv,
    const typename Image::Element* input, // where tap (0, 0) of the first pixel would be
    Taps rows,
    Taps columns,
    size_t channel,
    float* output) {
  const size_t channels = conv.channels;
  const size_t left = channels - channel;
  const size_t pixel_step = conv.width.stride * channels;
  const size_t tap_step = conv.width.dilation * channels;
  const ptrdiff_t row_step = static_cast<ptrdiff_t>(conv.height.dilation * conv.width.input * channels);
  Vector sum[N][kCount];
  Weights weights[N];
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    weights[n].set_channels(conv.zero_point, channel + n * kLanes, kPartial ? left : kLanes);
    begin_sums<kCount, kPartial>(conv, channel + n * kLanes, sum[n]);
  }
  for (size_t r = rows.begin; r < rows.end; ++r) {
    const auto* weight = static_cast<const typename Weights::Element*>(conv.weight) +
        (r * conv.width.kernel + columns.begin) * channels + channel;
    const auto* x =
        input + static_cast<ptrdiff_t>(r) * row_step + static_cast<ptrdiff_t>(columns.begin * tap_step + channel);
    for (size_t c = columns.begin; c < columns.end; ++c, weight += channels, x += tap_step) {
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        const Vector w = kPartial ? weights[n].load(weight + n * kLanes, left) : weights[n].load(weight + n * kLanes);
        const auto* pixel = x + n * kLanes;
        HWY_UNROLL(12)
        for (size_t i = 0; i < kCount; ++i) {
          sum[n][i] = hn::MulAdd(load<Image, kPartial>(pixel + i * pixel_step, left), w, sum[n][i]);
        }
      }
    }
  }
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    store_sums<kCount, kPartial>(conv, sum[n], channel + n * kLanes, output);
  }
}

// Loads the last channels of pixels.
template <typename Image>
struct LastChannels {
  size_t count;

  HWY_INLINE Vector load(const typename Image::Element* x) const {
    return Image().load(x, count);
  }
};

// What loads a vector of channels of pixels, from `channel` on.
template <typename Image, bool kPartial>
HWY_INLINE auto channels_from(const Depthwise& conv, size_t channel) {
  if constexpr (kPartial) {
    return LastChannels<Image>{conv.channels - channel};
  } else {
    return Image();
  }
}

// The same of one vector of channels and windows of kKernel columns without dilation. Of the pixels that begin at
// `input` side by side, each is loaded once for all windows that see it; only `columns` are inside of the image, among
// them one of each window.
template <typename Image, typename Weights, size_t kCount, size_t kKernel, size_t kStride, bool kPartial>
HWY_NOINLINE void convolve_run(
    const Depthwise& conv,
    const typename Image::Element* input,
    Taps rows,
    Taps columns,
    size_t channel,
    float* output) {
  const size_t channels = conv.channels;
  const ptrdiff_t row_step = static_cast<ptrdiff_t>(conv.height.dilation * conv.width.input * channels);
  const auto image = channels_from<Image, kPartial>(conv, channel);
  const auto weights = channels_from<Weights, kPartial>(conv, channel);
  Vector sum[kCount];
  begin_sums<kCount, kPartial>(conv, channel, sum);
  const auto* weight =
      static_cast<const typename Weights::Element*>(conv.weight) + rows.begin * kKernel * channels + channel;
  input += static_cast<ptrdiff_t>(rows.begin) * row_step + static_cast<ptrdiff_t>(channel);
  for (size_t r = rows.begin; r < rows.end; ++r, weight += kKernel * channels, input += row_step) {
    Vector w[kKernel];
    HWY_UNROLL(7)
    for (size_t c = 0; c < kKernel; ++c) {
      w[c] = weights.load(weight + c * channels);
    }
    add_seen<kCount, kKernel, kStride>(image, input, channels, columns, w, sum);
  }
  store_sums<kCount, kPartial>(conv, sum, channel, output);
}

// The same of windows of 8 columns or more, a few of these at a time.
template <typename Image, typename Weights, size_t kCount, bool kPartial>
HWY_NOINLINE void convolve_wide_run(
    const Depthwise& conv,
    const typename Image::Element* input,
    Taps rows,
    Taps columns,
    size_t channel,
    float* output) {
  const size_t channels = conv.channels, kernel = conv.width.kernel;
  // As many columns as leave a sum of fives and threes.
  const size_t rest = kernel % 7, sevens = kernel - rest - (rest == 1 || rest == 2 || rest == 4 ? 7 : 0);
  const ptrdiff_t row_step = static_cast<ptrdiff_t>(conv.height.dilation * conv.width.input * channels);
  const auto image = channels_from<Image, kPartial>(conv, channel);
  const auto weights = channels_from<Weights, kPartial>(conv, channel);
  Vector sum[kCount];
  begin_sums<kCount, kPartial>(conv, channel, sum);
  const auto* weight =
      static_cast<const typename Weights::Element*>(conv.weight) + rows.begin * kernel * channels + channel;
  input += static_cast<ptrdiff_t>(rows.begin) * row_step + static_cast<ptrdiff_t>(channel);
  for (size_t r = rows.begin; r < rows.end; ++r, input += row_step) {
    const auto* x = input;
    const auto add = [&](size_t first, auto count) HWY_ATTR {
      constexpr size_t kTaps = decltype(count)::value;
      Vector w[kTaps];
      HWY_UNROLL(7)
      for (size_t c = 0; c < kTaps; ++c, weight += channels) {
        w[c] = weights.load(weight);
      }
      const Taps inside{columns.begin - std::min(columns.begin, first), columns.end - std::min(columns.end, first)};
      add_seen<kCount, kTaps, 1, /*kAnywhere=*/true>(image, x, channels, inside, w, sum);
      x += kTaps * channels;
    };
    size_t c = 0;
    for (; c < sevens; c += 7) {
      add(c, std::integral_constant<size_t, 7>());
    }
    for (; (kernel - c) % 3 != 0; c += 5) {
      add(c, std::integral_constant<size_t, 5>());
    }
    for (; c < kernel; c += 3) {
      add(c, std::integral_constant<size_t, 3>());
    }
  }
  store_sums<kCount, kPartial>(conv, sum, channel, output);
}

// Columns [begin, end), at least kCount of them, that see whole rows of taps; vectors of channels, of which the last
// ones overlap those before.
template <typename Image, typename Weights, size_t kCount, size_t N>
void convolve_inner(const OutputRow<typename Image::Element>& row, size_t begin, size_t end, Depthwise::Part channels) {
  const Taps all{0, row.conv.width.kernel};
  for (size_t channel = channels.begin; channel < channels.end; channel += N * kLanes) {
    for (size_t i = begin; i < end; i += kCount) {
      const size_t column = std::min(i, end - kCount); // the last ones overlap those before
      convolve<Image, Weights, kCount, N, false>(
          row.conv,
          row.input_at(column),
          row.taps,
          all,
          std::min(channel, channels.end - N * kLanes),
          row.output + column * row.conv.channels);
    }
  }
}

// All columns, at least kMinRun, for all channels: whole vectors, or kPartial for less than one.
template <typename Image, typename Weights, size_t kKernel, size_t kStride, bool kPartial>
void convolve_columns(const OutputRow<typename Image::Element>& row) {
  const auto run = [](auto count) {
    return convolve_run<Image, Weights, decltype(count)::value, kKernel, kStride, kPartial>;
  };
  convolve_runs(row, run, row.conv.part);
}
template <typename Image, typename Weights, bool kPartial>
void convolve_wide_columns(const OutputRow<typename Image::Element>& row) {
  const auto run = [](auto count) { return convolve_wide_run<Image, Weights, decltype(count)::value, kPartial>; };
  convolve_runs(row, run, row.conv.part);
}

template <typename Image, typename Weights, bool kPartial>
void run_columns(const OutputRow<typename Image::Element>& row) {
  const Depthwise::Axis& width = row.conv.width;
  if (is_wide(width)) {
    return convolve_wide_columns<Image, Weights, kPartial>(row);
  }
  const auto run = [&](auto stride) HWY_ATTR {
    constexpr size_t kStride = decltype(stride)::value;
    if constexpr (kStride == 1) {
      if (width.kernel == 7) {
        return convolve_columns<Image, Weights, 7, kStride, kPartial>(row);
      }
    }
    width.kernel == 3 ? convolve_columns<Image, Weights, 3, kStride, kPartial>(row)
                      : convolve_columns<Image, Weights, 5, kStride, kPartial>(row);
  };
  width.stride == 1 ? run(std::integral_constant<size_t, 1>()) : run(std::integral_constant<size_t, 2>());
}

// Whether it has done so.
template <typename Image, typename Weights>
bool try_runs(const OutputRow<typename Image::Element>& row) {
  const Depthwise::Axis& width = row.conv.width;
  if constexpr (kHasRuns && std::is_same_v<Image, Weights>) {
    if (width.output < kMinRun || !has_runs(width) || !sees_image(width)) {
      return false;
    }
    if (row.conv.part.end - row.conv.part.begin >= kLanes) {
      run_columns<Image, Weights, false>(row);
      return true;
    }
    if constexpr (std::is_same_v<Image, FromFloat32>) {
      run_columns<Image, Weights, true>(row);
      return true;
    }
  }
  return false;
}

template <typename Image, typename Weights>
void convolve_pixel(const OutputRow<typename Image::Element>& row, size_t column) {
  const auto [begin, end] = row.conv.part;
  const Taps columns = taps_inside(row.conv.width, origin_of(row.conv.width, column));
  const auto* input = row.input_at(column);
  float* output = row.output + column * row.conv.channels;
  size_t channel = begin;
  for (; channel + kEdgeVectors * kLanes <= end; channel += kEdgeVectors * kLanes) {
    convolve<Image, Weights, 1, kEdgeVectors, false>(row.conv, input, row.taps, columns, channel, output);
  }
  for (; channel + kLanes <= end; channel += kLanes) {
    convolve<Image, Weights, 1, 1, false>(row.conv, input, row.taps, columns, channel, output);
  }
  if (channel < end) {
    convolve<Image, Weights, 1, 1, true>(row.conv, input, row.taps, columns, channel, output);
  }
}

template <typename Image, typename Weights>
void convolve_row(const Depthwise& conv, size_t index, float* output) {
  const OutputRow<typename Image::Element> row = output_row<typename Image::Element>(conv, index, output);
  if (try_runs<Image, Weights>(row)) {
    return;
  }
  // Pixels [begin, end) see whole rows of taps.
  const Depthwise::Axis& width = conv.width;
  const size_t reach = (width.kernel - 1) * width.dilation + 1;
  const size_t begin = std::min(divide_up(width.padding, width.stride), width.output);
  size_t end = begin;
  if (width.input + width.padding >= reach) {
    end = std::max(begin, std::min((width.input + width.padding - reach) / width.stride + 1, width.output));
  }
  const Depthwise::Part all = conv.part;
  if (all.end - all.begin < kLanes || end - begin < kMinRun) {
    end = begin;
  } else if (end - begin >= kPixels) {
    convolve_inner<Image, Weights, kPixels, 1>(row, begin, end, all);
  } else if (kPixels > 8 && end - begin >= 8) {
    convolve_inner<Image, Weights, 8, 1>(row, begin, end, all);
  } else {
    const size_t pairs = all.end - (all.end - all.begin) % (2 * kLanes);
    convolve_inner<Image, Weights, kMinRun, 2>(row, begin, end, {all.begin, pairs});
    convolve_inner<Image, Weights, kMinRun, 1>(row, begin, end, {pairs, all.end});
  }
  for (size_t i = 0; i < width.output; ++i) {
    if (i < begin || i >= end) {
      convolve_pixel<Image, Weights>(row, i);
    }
  }
}

void depthwise_row(const Depthwise& conv, size_t index, float* output) {
  with_weights(conv.type, conv.zero_point, [&](auto weights) HWY_ATTR {
    using Weights = decltype(weights);
    if constexpr (sizeof(typename Weights::Element) == sizeof(uint16_t)) {
      if (conv.input_type == conv.type) {
        return convolve_row<Weights, Weights>(conv, index, output);
      }
    }
    convolve_row<FromFloat32, Weights>(conv, index, output);
  });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(depthwise_row);
HWY_EXPORT(has_runs);

bool loads_pixels_once(const Depthwise::Axis& width) {
  return ETX_DISPATCH(has_runs)(width);
}

void pack_depthwise(DType type, const void* weight, size_t channels, size_t taps, void* packed) {
  const auto transpose = [=](const auto* from, auto* to) {
    for (size_t c = 0; c < channels; ++c) {
      for (size_t t = 0; t < taps; ++t) {
        to[t * channels + c] = from[c * taps + t];
      }
    }
  };
  if (type == DType::Int8) {
    transpose(static_cast<const int8_t*>(weight), static_cast<int8_t*>(packed));
  } else if (is_reduced_float(type)) {
    constexpr size_t kBlock = 256;
    float block[kBlock];
    const float* const from = static_cast<const float*>(weight);
    uint16_t* to = static_cast<uint16_t*>(packed);
    for (size_t i = 0; i < channels * taps; i += kBlock, to += kBlock) {
      const size_t count = std::min(kBlock, channels * taps - i);
      for (size_t k = 0; k < count; ++k) {
        block[k] = from[(i + k) % channels * taps + (i + k) / channels];
      }
      narrow(type, block, to, count);
    }
  } else {
    transpose(static_cast<const float*>(weight), static_cast<float*>(packed));
  }
}

DepthwiseRow choose_depthwise_row() {
  return ETX_DISPATCH(depthwise_row);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
