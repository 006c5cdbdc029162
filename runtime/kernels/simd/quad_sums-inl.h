// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Sums of products of bytes in registers, for AVX512-VNNI: include it after foreach_target.h, without a guard of
// the usual kind.

#if defined(ET_XNNPACK_QUAD_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_QUAD_SUMS_INL_H
#undef ET_XNNPACK_QUAD_SUMS_INL_H
#else
#define ET_XNNPACK_QUAD_SUMS_INL_H
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "byte_dot-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {
ETX_BYTE_DOT_BEGIN

// A vector of sums of products, of 32 bits. Highway's own vectors have elements of 64 bits for GCC, which (12, at
// least) copies those of 32 in each turn of a loop to other registers and back.
template <class D>
class QuadSums {
 public:
  QuadSums() = default;
  HWY_INLINE explicit QuadSums(hwy::HWY_NAMESPACE::Vec<D> sums) : sums_(reinterpret_cast<Elements>(sums.raw)) {}

  // To each sum adds four products.
  template <class Bytes, class SignedBytes>
  HWY_INLINE void add(Bytes x, SignedBytes w) {
    sums_ = reinterpret_cast<Elements>(add_byte_products(reinterpret_cast<Raw>(sums_), x.raw, w.raw));
  }

  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> get() const {
    return {reinterpret_cast<Raw>(sums_)};
  }

 private:
  using Raw = decltype(hwy::HWY_NAMESPACE::Vec<D>().raw);
  typedef int32_t Elements __attribute__((vector_size(sizeof(Raw))));

  Elements sums_;
};

ETX_BYTE_DOT_END
} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // HWY_AVX3

#endif // per-target include guard
