// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Rows of images that convolutions make without gathering what windows see, compiled for each instruction set: include
// it after foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_IMAGE_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_IMAGE_ROW_INL_H
#undef ET_XNNPACK_IMAGE_ROW_INL_H
#else
#define ET_XNNPACK_IMAGE_ROW_INL_H
#endif

#include <algorithm>
#include <iterator>
#include <type_traits>

#include <hwy/highway.h>

#include "depthwise_row.h"
#include "runtime/kernels/gemm/low_precision_weight-inl.h"
#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// The most pixels at once: each weight loaded serves them all.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr size_t kPixels = 12;
#else
constexpr size_t kPixels = 8;
#endif
constexpr size_t kMinRun = 4; // pixels

// Whether each window has a pixel of the image.
HWY_INLINE bool sees_image(const Depthwise::Axis& axis) {
  return axis.padding < axis.kernel && (axis.output - 1) * axis.stride < axis.input + axis.padding;
}

struct Taps {
  size_t begin, end;
};

// The taps of a window that are inside the input if the first one lies at `origin`.
HWY_INLINE Taps taps_inside(const Depthwise::Axis& axis, ptrdiff_t origin) {
  const ptrdiff_t dilation = static_cast<ptrdiff_t>(axis.dilation);
  const ptrdiff_t kernel = static_cast<ptrdiff_t>(axis.kernel);
  const ptrdiff_t size = static_cast<ptrdiff_t>(axis.input);
  const ptrdiff_t begin = origin >= 0 ? 0 : std::min((-origin + dilation - 1) / dilation, kernel);
  const ptrdiff_t end = origin >= size ? 0 : std::min((size - origin + dilation - 1) / dilation, kernel);
  return {static_cast<size_t>(begin), static_cast<size_t>(std::max(begin, end))};
}

HWY_INLINE ptrdiff_t origin_of(const Depthwise::Axis& axis, size_t position) {
  return static_cast<ptrdiff_t>(position * axis.stride) - static_cast<ptrdiff_t>(axis.padding);
}

template <typename Image, bool kPartial>
HWY_INLINE Vector load(const typename Image::Element* x, size_t count) {
  return kPartial ? Image().load(x, count) : Image().load(x);
}

// A vector of channels, from `channel` on, of kCount neighbouring pixels: what their sums begin with.
template <size_t kCount, bool kPartial>
HWY_INLINE void begin_sums(const Depthwise& conv, size_t channel, Vector (&sum)[kCount]) {
  const bool has_bias = conv.bias != nullptr && conv.scale == nullptr;
  const Vector first =
      has_bias ? load<FromFloat32, kPartial>(conv.bias + channel, conv.channels - channel) : hn::Zero(kFloats);
  HWY_UNROLL(12)
  for (size_t i = 0; i < kCount; ++i) {
    sum[i] = first;
  }
}

// Finishes and stores them.
template <size_t kCount, bool kPartial>
HWY_INLINE void store_sums(const Depthwise& conv, Vector (&sum)[kCount], size_t channel, float* output) {
  const size_t channels = conv.channels, left = channels - channel;
  const Vector min = hn::Set(kFloats, conv.min), max = hn::Set(kFloats, conv.max);
  if (conv.scale != nullptr) {
    const Vector scale = load<FromFloat32, kPartial>(conv.scale + channel, left);
    const Vector bias =
        conv.bias == nullptr ? hn::Zero(kFloats) : load<FromFloat32, kPartial>(conv.bias + channel, left);
    HWY_UNROLL(12)
    for (size_t i = 0; i < kCount; ++i) {
      sum[i] = hn::MulAdd(sum[i], scale, bias);
    }
  }
  float* to = output + channel;
  HWY_UNROLL(12)
  for (size_t i = 0; i < kCount; ++i, to += channels) {
    const Vector y = clamped(sum[i], min, max);
    if (kPartial) {
      hn::StoreN(y, kFloats, to, left);
    } else {
      hn::StoreU(y, kFloats, to);
    }
  }
}

// What all pixels of one row of the output have in common.
template <typename Element>
struct OutputRow {
  const Depthwise& conv;
  const Element* input; // where tap (0, 0) of the window of column 0 would be without padding
  Taps taps;
  float* output;

  const Element* input_at(size_t column) const {
    return input + origin_of(conv.width, column) * static_cast<ptrdiff_t>(conv.channels);
  }
};

// Row `index` of those of all images.
template <typename Element>
OutputRow<Element> output_row(const Depthwise& conv, size_t index, float* output) {
  const Depthwise::Axis& height = conv.height;
  const size_t line = conv.width.input * conv.channels;
  const ptrdiff_t top = origin_of(height, index % height.output);
  const Element* image = static_cast<const Element*>(conv.input) + index / height.output * height.input * line;
  return {conv, image + top * static_cast<ptrdiff_t>(line), taps_inside(height, top), output};
}

// Adds what one row of windows of kKernel columns sees to the sums of one vector of channels of kCount neighbouring
// pixels. Each pixel that they see, from `x` on, is loaded once, by image.load(), if it is among `columns`; unless
// kAnywhere, one of each window is.
template <size_t kCount, size_t kKernel, size_t kStride, bool kAnywhere = false, typename Image, typename Element>
HWY_INLINE void add_seen(
    const Image& image,
    const Element* x,
    size_t channels,
    Taps columns,
    const Vector (&weight)[kKernel],
    Vector (&sum)[kCount]) {
  constexpr size_t kSeen = (kCount - 1) * kStride + kKernel;
  HWY_UNROLL(32)
  for (size_t j = 0; j < kSeen; ++j, x += channels) {
    const bool is_before = (kAnywhere || j + 1 < kKernel) && j < columns.begin;
    const bool is_behind = (kAnywhere || kSeen < j + kKernel) && j >= columns.end;
    if (is_before || is_behind) {
      continue;
    }
    const Vector pixel = image.load(x);
    HWY_UNROLL(7)
    for (size_t c = 0; c < kKernel; ++c) {
      if (j >= c && (j - c) % kStride == 0 && (j - c) / kStride < kCount) {
        sum[(j - c) / kStride] = hn::MulAdd(pixel, weight[c], sum[(j - c) / kStride]);
      }
    }
  }
}

// Neighbouring pixels of one vector of channels, from the channel on, whose windows begin at the input side by side. Of
// the pixels that they see only `columns` are inside of the image, among them one of each window.
template <typename Element>
struct ColumnRun {
  size_t count;
  void (*convolve)(const Depthwise& conv, const Element* input, Taps rows, Taps columns, size_t channel, float* output);
};

// All columns, at least kMinRun, for these channels: vectors of them, of which the last overlaps the one before, or
// less than one. `convolve` gives the function for a number of pixels.
template <typename Element, typename Convolve>
void convolve_runs(const OutputRow<Element>& row, const Convolve& convolve, Depthwise::Part channels) {
  const ColumnRun<Element> runs[] = {
      {kPixels, convolve(std::integral_constant<size_t, kPixels>())},
      {8, convolve(std::integral_constant<size_t, 8>())},
      {7, convolve(std::integral_constant<size_t, 7>())}, // that wide are the last images of many models
      {6, convolve(std::integral_constant<size_t, 6>())},
      {kMinRun, convolve(std::integral_constant<size_t, kMinRun>())}};
  const size_t columns = row.conv.width.output;
  for (size_t begin = 0; begin < columns;) {
    const size_t left = columns - begin;
    // The last one overlaps those before by a pixel, or by more if there is none that leaves enough.
    const auto find = [&](const auto& fits) {
      return std::find_if(std::begin(runs), std::end(runs), [&](const auto& r) { return fits(r.count); });
    };
    const auto* run = find([=](size_t count) { return count == left; });
    if (run == std::end(runs)) {
      run = find([=](size_t count) { return count <= columns && (count == left + 1 || count + kMinRun <= left); });
    }
    run = run == std::end(runs) ? run - 1 : run;
    const size_t column = std::min(begin, columns - run->count);
    Depthwise::Axis seen = row.conv.width; // as one window
    seen.kernel = (run->count - 1) * seen.stride + seen.kernel;
    const Taps inside = taps_inside(seen, origin_of(row.conv.width, column));
    float* const output = row.output + column * row.conv.channels;
    const size_t last = std::max(channels.begin + kLanes, channels.end) - kLanes;
    for (size_t channel = channels.begin; channel < channels.end; channel += kLanes) {
      run->convolve(row.conv, row.input_at(column), row.taps, inside, std::min(channel, last), output);
    }
    begin = column + run->count;
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
