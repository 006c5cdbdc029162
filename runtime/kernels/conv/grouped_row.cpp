// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "grouped_row.h"

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/grouped_row.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "image_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kKernel = 3; // columns of windows
constexpr bool kHasGroups = kLanes >= 8; // elsewhere XNNPACK's vectors are full with four channels

// In larger groups XNNPACK is as fast.
bool has_row(const Depthwise& conv) {
  const Depthwise::Axis& width = conv.width;
  return kHasGroups && conv.group > 1 && kLanes % conv.group == 0 && 2 * conv.group * width.stride <= kLanes &&
      conv.channels % kLanes == 0 && width.kernel == kKernel && (width.stride == 1 || width.stride == 2) &&
      width.dilation == 1;
}

// The first lane of the group of each lane.
HWY_INLINE auto first_lanes(const Depthwise& conv) {
  const hn::RebindToSigned<Floats> integers;
  const auto lanes = hn::Iota(integers, 0);
  return hn::Sub(lanes, hn::And(lanes, hn::Set(integers, static_cast<int32_t>(conv.group) - 1)));
}

// Loads pixels with channel k of its group in each lane.
class GroupLanes {
  using Integers = hn::RebindToSigned<Floats>;

 public:
  HWY_INLINE GroupLanes(hn::Vec<Integers> first, size_t k)
      : places_(hn::IndicesFromVec(kFloats, hn::Add(first, hn::Set(Integers(), static_cast<int32_t>(k))))) {}

  HWY_INLINE Vector load(const float* x) const {
    return hn::TableLookupLanes(hn::LoadU(kFloats, x), places_);
  }

 private:
  decltype(hn::IndicesFromVec(kFloats, hn::Vec<Integers>())) places_;
};

// A run of pixels, as ColumnRun has it.
template <size_t kCount, size_t kStride>
HWY_NOINLINE void convolve_groups(
    const Depthwise& conv, const float* input, Taps rows, Taps columns, size_t channel, float* output) {
  const size_t channels = conv.channels, tap_step = conv.group * channels;
  const ptrdiff_t row_step = static_cast<ptrdiff_t>(conv.height.dilation * conv.width.input * channels);
  const auto first = first_lanes(conv);
  Vector sum[kCount];
  begin_sums<kCount, false>(conv, channel, sum);
  const float* weight = static_cast<const float*>(conv.weight) + rows.begin * kKernel * tap_step + channel;
  input += static_cast<ptrdiff_t>(rows.begin) * row_step + static_cast<ptrdiff_t>(channel);
  for (size_t r = rows.begin; r < rows.end; ++r, weight += kKernel * tap_step, input += row_step) {
    for (size_t k = 0; k < conv.group; ++k) {
      Vector w[kKernel];
      HWY_UNROLL(3)
      for (size_t c = 0; c < kKernel; ++c) {
        w[c] = hn::LoadU(kFloats, weight + c * tap_step + k * channels);
      }
      add_seen<kCount, kKernel, kStride>(GroupLanes(first, k), input, channels, columns, w, sum);
    }
  }
  store_sums<kCount, false>(conv, sum, channel, output);
}

template <size_t kStride>
void convolve_columns(const OutputRow<float>& row) {
  const auto run = [](auto count) { return convolve_groups<decltype(count)::value, kStride>; };
  convolve_runs(row, run, row.conv.part);
}

// One pixel, of which some taps or all may lie in the padding.
void convolve_pixel(const OutputRow<float>& row, size_t column, size_t channel) {
  const Depthwise& conv = row.conv;
  const size_t channels = conv.channels;
  const Taps columns = taps_inside(conv.width, origin_of(conv.width, column));
  const auto first = first_lanes(conv);
  Vector sum[1];
  begin_sums<1, false>(conv, channel, sum);
  for (size_t r = row.taps.begin; r < row.taps.end; ++r) {
    const float* x = row.input_at(column) +
        static_cast<ptrdiff_t>((r * conv.height.dilation * conv.width.input + columns.begin) * channels + channel);
    for (size_t c = columns.begin; c < columns.end; ++c, x += channels) {
      const float* const weight =
          static_cast<const float*>(conv.weight) + (r * kKernel + c) * conv.group * channels + channel;
      for (size_t k = 0; k < conv.group; ++k) {
        const Vector pixel = GroupLanes(first, k).load(x);
        sum[0] = hn::MulAdd(pixel, hn::LoadU(kFloats, weight + k * channels), sum[0]);
      }
    }
  }
  store_sums<1, false>(conv, sum, channel, row.output + column * channels);
}

void grouped_row(const Depthwise& conv, size_t index, float* output) {
  const Depthwise::Axis& width = conv.width;
  const OutputRow<float> row = output_row<float>(conv, index, output);
  if (width.output >= kMinRun && sees_image(width)) {
    width.stride == 1 ? convolve_columns<1>(row) : convolve_columns<2>(row);
    return;
  }
  for (size_t column = 0; column < width.output; ++column) {
    for (size_t channel = conv.part.begin; channel < conv.part.end; channel += kLanes) {
      convolve_pixel(row, column, channel);
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(grouped_row);
HWY_EXPORT(has_row);

bool has_grouped_row(const Depthwise& conv) {
  return ETX_DISPATCH(has_row)(conv);
}

void pack_grouped(const float* weight, size_t channels, size_t taps, size_t group, float* packed) {
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < taps * group; ++i) {
      packed[i * channels + c] = weight[c * taps * group + i];
    }
  }
}

DepthwiseRow choose_grouped_row() {
  return ETX_DISPATCH(grouped_row);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
