// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Compiled for each instruction set: include it after foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_TRANSPOSE_INL_H
#undef ET_XNNPACK_TRANSPOSE_INL_H
#else
#define ET_XNNPACK_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Transposes a square in registers: each step shuffles its halves into one another.
// REQUIRES: `tag` has kSide lanes, of 128 bits or less together
template <typename Tag, size_t kSide>
HWY_INLINE void transpose_halves(Tag tag, hn::Vec<Tag> (&v)[kSide]) {
  HWY_UNROLL(4)
  for (size_t step = 1; step < kSide; step *= 2) {
    hn::Vec<Tag> shuffled[kSide];
    HWY_UNROLL(8)
    for (size_t i = 0; i < kSide / 2; ++i) {
      shuffled[2 * i] = hn::InterleaveLower(tag, v[i], v[i + kSide / 2]);
      shuffled[2 * i + 1] = hn::InterleaveUpper(tag, v[i], v[i + kSide / 2]);
    }
    HWY_UNROLL(16)
    for (size_t i = 0; i < kSide; ++i) {
      v[i] = shuffled[i];
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
