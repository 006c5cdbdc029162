// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <limits>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_mask.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A summand of a score that leaves nothing of a key's weight beside keys without one.
constexpr float kNever = -1e30f;

// Elements of a mask that are more than `low`, or NaN.
struct Above {
  using D = hn::ScalableTag<float>;
  float low;
  hn::Mask<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Not(hn::Le(x, hn::Set(d, low)));
  }
};

struct IsTrue {
  using D = hn::ScalableTag<uint8_t>;
  hn::Mask<D> operator()(D d, hn::Vec<D> x) const {
    return hn::Ne(x, hn::Zero(d));
  }
};

// How many elements there are up to the last one that is visible.
template <class Visible, typename T>
HWY_INLINE size_t up_to_last(const T* mask, size_t count, Visible visible) {
  const typename Visible::D d;
  const size_t lanes = hn::Lanes(d);
  while (count > 0) {
    const size_t part = count % lanes == 0 ? lanes : count % lanes;
    const auto x = part == lanes ? hn::LoadU(d, mask + count - part) : hn::LoadN(d, mask + count - part, part);
    const intptr_t last = hn::FindLastTrue(d, hn::And(visible(d, x), hn::FirstN(d, part)));
    if (last >= 0) {
      return count - part + static_cast<size_t>(last) + 1;
    }
    count -= part;
  }
  return 0;
}

void find_visible(const AttentionProblem& p, size_t begin, size_t end, uint16_t* to) {
  constexpr size_t kKeys = AttentionProblem::kBlockKeys;
  for (size_t row = begin; row < end; ++row) {
    const float* const floats = static_cast<const float*>(p.mask) + row * p.keys;
    const uint8_t* const bools = static_cast<const uint8_t*>(p.mask) + row * p.keys;
    Above above{kNever};
    if (!p.mask_is_bool && up_to_last(floats, p.keys, above) == 0) {
      above.low = -std::numeric_limits<float>::infinity();
    }
    for (size_t k = 0; k < p.keys; k += kKeys) {
      const size_t count = std::min(kKeys, p.keys - k);
      const size_t visible =
          p.mask_is_bool ? up_to_last(bools + k, count, IsTrue()) : up_to_last(floats + k, count, above);
      to[row * p.blocks() + k / kKeys] = static_cast<uint16_t>(visible);
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(find_visible);

FindVisibleKeys find_visible_keys() {
  return ETX_DISPATCH(find_visible);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
