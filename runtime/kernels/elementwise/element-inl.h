// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// An operand as blocks of any type, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_ELEMENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_ELEMENT_INL_H
#undef ET_XNNPACK_ELEMENT_INL_H
#else
#define ET_XNNPACK_ELEMENT_INL_H
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "blocks.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Gives the blocks of an operand, one after the other. An element that is one for all is there as often as a block has
// elements, so that a loop has one form, whatever moves: for each combination the compiler would make a loop of its
// own.
template <typename T, size_t kBlock>
class Blocks {
 public:
  // REQUIRES: the operand has an element; kBlock is a multiple of the lanes of a vector
  explicit Blocks(const RowOperand& operand) : next_(static_cast<const T*>(operand.data)), step_(kBlock) {
    if (!operand.moves) {
      const hn::ScalableTag<T> tag;
      const auto same = hn::Set(tag, *next_);
      for (size_t i = 0; i < kBlock; i += hn::MaxLanes(tag)) {
        hn::Store(same, tag, copies_ + i);
      }
      next_ = copies_;
      step_ = 0;
    }
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  HWY_INLINE const T* next() {
    const T* const block = next_;
    next_ += step_;
    return block;
  }

 private:
  static_assert(kBlock <= kMaxBlock);
  const T* next_;
  size_t step_;
  HWY_ALIGN T copies_[kBlock];
};

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
