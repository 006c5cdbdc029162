// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Reductions of elements of any type in vectors, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_REDUCE_INL_H
#undef ET_XNNPACK_REDUCE_INL_H
#else
#define ET_XNNPACK_REDUCE_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using VectorOf = hn::Vec<Tag<T>>;
template <typename T>
using MaskOf = hn::Mask<Tag<T>>;
template <typename T>
constexpr size_t kLanesOf = hn::MaxLanes(Tag<T>());

template <typename T>
bool is_nan(T x) {
  return x != x;
}

// Integers wrap instead of overflowing.
template <typename T>
struct SumOf {
  static constexpr T kFirst = 0;
  static constexpr bool kKeepsNan = false;
  static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  static HWY_INLINE VectorOf<T> join(VectorOf<T> a, VectorOf<T> b) {
    return hn::Add(a, b);
  }
};
template <typename T>
struct ProdOf {
  static constexpr T kFirst = 1;
  static constexpr bool kKeepsNan = false;
  static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
  static HWY_INLINE VectorOf<T> join(VectorOf<T> a, VectorOf<T> b) {
    return hn::Mul(a, b);
  }
};
// Vectors leave NaN to who calls.
template <typename T>
struct MaxOf {
  static constexpr T kFirst =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  static constexpr bool kKeepsNan = std::is_floating_point_v<T>;
  static bool better(T a, T b) {
    return a > b || is_nan(a);
  }
  static T join(T a, T b) {
    return better(a, b) ? a : b;
  }
  static HWY_INLINE VectorOf<T> join(VectorOf<T> a, VectorOf<T> b) {
    return hn::Max(a, b);
  }
  static HWY_INLINE MaskOf<T> better(VectorOf<T> a, VectorOf<T> b) {
    return hn::Gt(a, b);
  }
};
template <typename T>
struct MinOf {
  static constexpr T kFirst =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  static constexpr bool kKeepsNan = std::is_floating_point_v<T>;
  static bool better(T a, T b) {
    return a < b || is_nan(a);
  }
  static T join(T a, T b) {
    return better(a, b) ? a : b;
  }
  static HWY_INLINE VectorOf<T> join(VectorOf<T> a, VectorOf<T> b) {
    return hn::Min(a, b);
  }
  static HWY_INLINE MaskOf<T> better(VectorOf<T> a, VectorOf<T> b) {
    return hn::Lt(a, b);
  }
};

// N vectors of totals; NaN is noted beside them.
template <typename T, class Function, size_t N>
struct Totals {
  static constexpr Tag<T> d{};
  VectorOf<T> total[N];
  MaskOf<T> nan[N];

  HWY_INLINE void start() {
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      total[n] = hn::Set(d, Function::kFirst);
      nan[n] = hn::MaskFalse(d);
    }
  }
  HWY_INLINE void add(size_t n, VectorOf<T> v) {
    total[n] = Function::join(total[n], v);
    if constexpr (Function::kKeepsNan) {
      nan[n] = hn::Or(nan[n], hn::IsNaN(v));
    }
  }
  HWY_INLINE VectorOf<T> get(size_t n) const {
    if constexpr (Function::kKeepsNan) {
      return hn::IfThenElse(nan[n], hn::Set(d, std::numeric_limits<T>::quiet_NaN()), total[n]);
    } else {
      return total[n];
    }
  }
};

template <typename T, class Function>
HWY_INLINE T total_of_row(const T* x, size_t count, T total) {
  constexpr Tag<T> d{};
  constexpr size_t kLanes = kLanesOf<T>;
  size_t i = 0;
  if (count >= kLanes) {
    Totals<T, Function, 4> totals;
    totals.start();
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      totals.add(0, hn::LoadU(d, x + i));
      totals.add(1, hn::LoadU(d, x + i + kLanes));
      totals.add(2, hn::LoadU(d, x + i + 2 * kLanes));
      totals.add(3, hn::LoadU(d, x + i + 3 * kLanes));
    }
    for (; i + kLanes <= count; i += kLanes) {
      totals.add(0, hn::LoadU(d, x + i));
    }
    totals.add(0, totals.get(1));
    totals.add(2, totals.get(3));
    totals.add(0, totals.get(2));
    HWY_ALIGN T each[kLanes];
    hn::Store(totals.get(0), d, each);
    for (size_t half = kLanes / 2; half > 0; half /= 2) {
      for (size_t n = 0; n < half; ++n) {
        each[n] = Function::join(each[n], each[n + half]);
      }
    }
    total = Function::join(total, each[0]);
  }
  for (; i < count; ++i) {
    total = Function::join(total, x[i]);
  }
  return total;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
