// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "depthwise.h"

#include <algorithm>
#include <type_traits>

#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/depthwise.cpp"
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

// The same of one whole vector of channels and windows of kKernel columns without dilation. Of the pixels that begin at `input`
// side by side, each is loaded once for all windows that see it; only `columns` are inside of the image, among them one of
// each window.
template <typename Image, typename Weights, size_t kCount, size_t kKernel, size_t kStride>
HWY_NOINLINE void convolve_run(
    const Depthwise& conv,
    const typename Image::Element* input,
    Taps rows,
    Taps columns,
    size_t channel,
    float* output) {
  const size_t channels = conv.channels;
  const ptrdiff_t row_step = static_cast<ptrdiff_t>(conv.height.dilation * conv.width.input * channels);
  Vector sum[kCount];
  begin_sums<kCount, false>(conv, channel, sum);
  const auto* weight =
      static_cast<const typename Weights::Element*>(conv.weight) + rows.begin * kKernel * channels + channel;
  input += static_cast<ptrdiff_t>(rows.begin) * row_step + static_cast<ptrdiff_t>(channel);
  for (size_t r = rows.begin; r < rows.end; ++r, weight += kKernel * channels, input += row_step) {
    Vector w[kKernel];
    HWY_UNROLL(7)
    for (size_t c = 0; c < kKernel; ++c) {
      w[c] = Weights().load(weight + c * channels);
    }
    add_seen<kCount, kKernel, kStride>(Image(), input, channels, columns, w, sum);
  }
  store_sums<kCount, false>(conv, sum, channel, output);
}

// The same of windows of 8 columns or more, a few of these at a time.
template <typename Image, typename Weights, size_t kCount>
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
  Vector sum[kCount];
  begin_sums<kCount, false>(conv, channel, sum);
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
        w[c] = Weights().load(weight);
      }
      const Taps inside{columns.begin - std::min(columns.begin, first), columns.end - std::min(columns.end, first)};
      add_seen<kCount, kTaps, 1, /*kAnywhere=*/true>(Image(), x, channels, inside, w, sum);
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
  store_sums<kCount, false>(conv, sum, channel, output);
}

// Columns [begin, end), at least kCount of them, that see whole rows of taps; whole vectors of channels.
template <typename Image, typename Weights, size_t kCount, size_t N>
void convolve_inner(const OutputRow<typename Image::Element>& row, size_t begin, size_t end, Depthwise::Part channels) {
  const Taps all{0, row.conv.width.kernel};
  for (size_t channel = channels.begin; channel < channels.end; channel += N * kLanes) {
    for (size_t i = begin; i < end; i += kCount) {
      const size_t column = std::min(i, end - kCount); // the last ones overlap those before
      convolve<Image, Weights, kCount, N, false>(
          row.conv, row.input_at(column), row.taps, all, channel, row.output + column * row.conv.channels);
    }
  }
}

// All columns, at least kMinRun, for whole vectors of channels.
template <typename Image, typename Weights, size_t kKernel, size_t kStride>
void convolve_columns(const OutputRow<typename Image::Element>& row, Depthwise::Part channels) {
  const auto run = [](auto count) { return convolve_run<Image, Weights, decltype(count)::value, kKernel, kStride>; };
  convolve_runs(row, run, channels);
}
template <typename Image, typename Weights>
void convolve_wide_columns(const OutputRow<typename Image::Element>& row, Depthwise::Part channels) {
  const auto run = [](auto count) { return convolve_wide_run<Image, Weights, decltype(count)::value>; };
  convolve_runs(row, run, channels);
}

// Whether it has done so.
template <typename Image, typename Weights>
bool try_runs(const OutputRow<typename Image::Element>& row, Depthwise::Part channels) {
  const Depthwise::Axis& width = row.conv.width;
  if constexpr (kHasRuns && std::is_same_v<Image, Weights>) {
    if (width.output < kMinRun || !has_runs(width) || !sees_image(width)) {
      return false;
    }
    if (is_wide(width)) {
      convolve_wide_columns<Image, Weights>(row, channels);
      return true;
    }
    const auto run = [&](auto stride) HWY_ATTR {
      constexpr size_t kStride = decltype(stride)::value;
      if constexpr (kStride == 1) {
        if (width.kernel == 7) {
          return convolve_columns<Image, Weights, 7, kStride>(row, channels);
        }
      }
      width.kernel == 3 ? convolve_columns<Image, Weights, 3, kStride>(row, channels)
                        : convolve_columns<Image, Weights, 5, kStride>(row, channels);
    };
    width.stride == 1 ? run(std::integral_constant<size_t, 1>()) : run(std::integral_constant<size_t, 2>());
    return true;
  }
  return false;
}

template <typename Image, typename Weights>
void convolve_pixel(const OutputRow<typename Image::Element>& row, size_t column, size_t channel) {
  const size_t channels = row.conv.channels;
  const Taps columns = taps_inside(row.conv.width, origin_of(row.conv.width, column));
  const auto* input = row.input_at(column);
  float* output = row.output + column * channels;
  const size_t end = row.conv.part.end;
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
  const Depthwise::Axis& width = conv.width;
  const Depthwise::Part channels = conv.part;
  const OutputRow<typename Image::Element> row = output_row<typename Image::Element>(conv, index, output);

  // Pixels [begin, end) see whole rows of taps.
  const size_t reach = (width.kernel - 1) * width.dilation + 1;
  const size_t begin = std::min((width.padding + width.stride - 1) / width.stride, width.output);
  size_t end = begin;
  if (width.input + width.padding >= reach) {
    end = std::max(begin, std::min((width.input + width.padding - reach) / width.stride + 1, width.output));
  }
  const size_t count = end - begin;
  const size_t whole = channels.end / kLanes * kLanes;
  const size_t pairs = whole - (whole - channels.begin) % (2 * kLanes);
  if (try_runs<Image, Weights>(row, {channels.begin, whole})) {
    for (size_t i = 0; i < width.output && whole < channels.end; ++i) {
      convolve_pixel<Image, Weights>(row, i, whole);
    }
    return;
  }
  size_t inner_channels = whole;
  if (count >= kPixels) {
    convolve_inner<Image, Weights, kPixels, 1>(row, begin, end, {channels.begin, whole});
  } else if (kPixels > 8 && count >= 8) {
    convolve_inner<Image, Weights, 8, 1>(row, begin, end, {channels.begin, whole});
  } else if (count >= 4) {
    convolve_inner<Image, Weights, 4, 2>(row, begin, end, {channels.begin, pairs});
    convolve_inner<Image, Weights, 4, 1>(row, begin, end, {pairs, whole});
  } else {
    inner_channels = channels.begin;
  }
  for (size_t i = 0; i < width.output; ++i) {
    const bool inside = i >= begin && i < end;
    if (!inside || inner_channels < channels.end) {
      convolve_pixel<Image, Weights>(row, i, inside ? inner_channels : channels.begin);
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
