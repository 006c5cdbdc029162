// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// An operand as vectors of any type, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_ELEMENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_ELEMENT_INL_H
#undef ET_XNNPACK_ELEMENT_INL_H
#else
#define ET_XNNPACK_ELEMENT_INL_H
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "row.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// REQUIRES: the operand has an element
template <typename T>
class Elements {
 public:
  explicit Elements(const RowOperand& operand)
      : data_(static_cast<const T*>(operand.data)), moves_(operand.moves), same_(hn::Set(kTag, *data_)) {}

  HWY_INLINE hn::Vec<hn::ScalableTag<T>> load(size_t i) const {
    return moves_ ? hn::LoadU(kTag, data_ + i) : same_;
  }
  T operator[](size_t i) const {
    return data_[moves_ ? i : 0];
  }

 private:
  static constexpr hn::ScalableTag<T> kTag{};
  const T* data_;
  bool moves_;
  hn::Vec<hn::ScalableTag<T>> same_;
};

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
