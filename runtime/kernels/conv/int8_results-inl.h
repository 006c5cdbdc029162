// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// How sums of products become integers of 8 bits, compiled for AVX512-VNNI: include it after foreach_target.h, without
// a guard of the usual kind.

#if defined(ET_XNNPACK_INT8_RESULTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_INT8_RESULTS_INL_H
#undef ET_XNNPACK_INT8_RESULTS_INL_H
#else
#define ET_XNNPACK_INT8_RESULTS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "int8_panels.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums of a pixel lie in vectors of so many, one for each channel of a panel, in the order of place_in_panel().
using Sums = hn::FixedTag<int32_t, kLeastPanel>;

// What results are made with.
struct Int8Results {
  using Floats = hn::RebindToFloat<Sums>;

  HWY_INLINE explicit Int8Results(const Int8Range& range)
      : zero_point(range.zero_point),
        min(range.min),
        most(hn::Set(Floats(), static_cast<float>(range.max - range.zero_point))) {}

  // Writes those of the first `channels` channels of a panel.
  template <size_t kVectors>
  HWY_INLINE void store(const hn::Vec<Sums> (&sums)[kVectors], const float* scales, size_t channels, int8_t* to) const {
    using Shorts = hn::FixedTag<int16_t, std::min<size_t>(kVectors, 2) * kLeastPanel>;
    using Results = hn::FixedTag<int8_t, kVectors * kLeastPanel>;
    constexpr Shorts kShorts;
    constexpr Results kResults;
    hn::Vec<Sums> y[kVectors];
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      const auto scale = hn::LoadU(Floats(), scales + n * kLeastPanel);
      y[n] = hn::NearestIntInRange(Sums(), hn::Min(hn::Mul(hn::ConvertTo(Floats(), sums[n]), scale), most));
    }
    const auto moved = [&](hn::Vec<Shorts> x) HWY_ATTR { return hn::SaturatedAdd(x, hn::Set(kShorts, zero_point)); };
    hn::Vec<Results> result;
    if constexpr (kVectors == 4) {
      const auto low = moved(hn::ReorderDemote2To(kShorts, y[0], y[1]));
      result = hn::ReorderDemote2To(kResults, low, moved(hn::ReorderDemote2To(kShorts, y[2], y[3])));
    } else if constexpr (kVectors == 2) {
      result = hn::DemoteTo(kResults, moved(hn::ReorderDemote2To(kShorts, y[0], y[1])));
    } else {
      result = hn::DemoteTo(kResults, moved(hn::DemoteTo(kShorts, y[0])));
    }
    result = hn::Max(result, hn::Set(kResults, min));
    if (channels < kVectors * kLeastPanel) {
      hn::StoreN(result, kResults, to, channels);
    } else {
      hn::StoreU(result, kResults, to);
    }
  }

  int8_t zero_point, min;
  hn::Vec<Floats> most; // before the zero point is added
};

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // HWY_AVX3

#endif // per-target include guard
