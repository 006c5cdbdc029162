// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Matrix products in registers, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_PRODUCT_INL_H
#undef ET_XNNPACK_PRODUCT_INL_H
#else
#define ET_XNNPACK_PRODUCT_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include <hwy/highway.h>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// The register tile is kRows x kVectors vectors.
#if HWY_TARGET == HWY_AVX3
constexpr size_t kRows = 12;
#elif HWY_TARGET == HWY_AVX2
constexpr size_t kRows = 6;
#elif HWY_ARCH_ARM_A64
constexpr size_t kRows = 8;
#else
constexpr size_t kRows = 4;
#endif
constexpr size_t kVectors = 2;
constexpr size_t kTile = kVectors * kLanes;
// pack() writes whole vectors, each one over what the last one wrote too much.
static_assert(kRows <= kLanes || kRows % kLanes == 0, "a panel is filled by whole vectors");

// Calls store(v, c, r) with a vector of column c of rows r, r + 1, ..., for `rows` rows, zeros for those up to
// `stride`; the last vector may be of more rows. load(r, c, count) is `count` numbers of row r from column c on.
template <typename Load, typename Store>
HWY_INLINE void transpose(const Load& load, size_t rows, size_t width, size_t stride, const Store& store) {
  for (size_t c = 0; c < width; c += kLanes) {
    const size_t columns = std::min(kLanes, width - c);
    for (size_t r = 0; r < stride; r += kLanes) {
      Vector v[kLanes];
      HWY_UNROLL(16)
      for (size_t i = 0; i < kLanes; ++i) {
        v[i] = r + i < rows ? load(r + i, c, columns) : hn::Zero(kFloats);
      }
      transpose_square(v);
      if (columns == kLanes) {
        HWY_UNROLL(16)
        for (size_t i = 0; i < kLanes; ++i) {
          store(v[i], c + i, r);
        }
      } else {
        for (size_t i = 0; i < columns; ++i) {
          store(v[i], c + i, r);
        }
      }
    }
  }
}

// Writes to[c * stride + r] = scale * from[r * from_stride + c] for `rows` rows, 0 for those up to
// `stride`. May write kLanes - 1 floats more.
inline HWY_NOINLINE void pack(
    const float* from, size_t from_stride, size_t rows, size_t width, size_t stride, float scale, float* to) {
  const Vector factor = hn::Set(kFloats, scale);
  const auto load = [&](size_t r, size_t c, size_t count) HWY_ATTR {
    const float* const at = from + r * from_stride + c;
    return hn::Mul(factor, count == kLanes ? hn::LoadU(kFloats, at) : hn::LoadN(kFloats, at, count));
  };
  const auto store = [&](Vector v, size_t c, size_t r) HWY_ATTR { hn::StoreU(v, kFloats, to + c * stride + r); };
  transpose(load, rows, width, stride, store);
}

template <size_t kValue>
using Constant = std::integral_constant<size_t, kValue>;

// Calls function(Constant<0>()), function(Constant<1>()) and so on, kCount times.
template <size_t kCount, typename Function>
HWY_INLINE void for_each_constant(const Function& function) {
  if constexpr (kCount > 0) {
    for_each_constant<kCount - 1>(function);
    function(Constant<kCount - 1>());
  }
}

// sum[r] += a[r * stride] * row for R rows of N vectors. Stride is size_t or a Constant.
template <size_t R, size_t N, typename Stride>
HWY_INLINE void add_products(const float* HWY_RESTRICT a, Stride stride, const Vector (&row)[N], Vector (&sum)[R][N]) {
  // ARM multiplies by a lane in one instruction, x86 by a number in memory.
  if constexpr (HWY_ARCH_ARM_A64 && std::is_same_v<Stride, Constant<1>> && R % kLanes == 0) {
    for_each_constant<R / kLanes>([&](auto i) HWY_ATTR {
      const Vector factors = hn::LoadU(kFloats, a + i * kLanes);
      for_each_constant<kLanes>([&](auto lane) HWY_ATTR {
        HWY_UNROLL(8)
        for (size_t n = 0; n < N; ++n) {
          Vector& to = sum[i * kLanes + lane][n];
          to = hn::MulAdd(hn::BroadcastLane<static_cast<int>(lane)>(factors), row[n], to);
        }
      });
    });
  } else {
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector factor = hn::Set(kFloats, a[r * stride]);
      HWY_UNROLL(8)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::MulAdd(factor, row[n], sum[r][n]);
      }
    }
  }
}

// c[r][j] = sum over k of a[k * a_step + r * a_stride] * b[k * b_stride + j] for R rows of N vectors,
// plus keep[r] * c[r][j] if there is `keep`. Step and Stride are size_t or a Constant.
template <size_t R, size_t N, typename Step, typename Stride>
HWY_NOINLINE void multiply(
    const float* HWY_RESTRICT a,
    Step a_step,
    Stride a_stride,
    const float* HWY_RESTRICT b,
    size_t b_stride,
    size_t depth,
    const float* HWY_RESTRICT keep,
    float* HWY_RESTRICT c,
    size_t c_stride) {
  Vector sum[R][N];
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = hn::Zero(kFloats);
    }
  }
  for (size_t k = 0; k < depth; ++k) {
    Vector row[N];
    HWY_UNROLL(8)
    for (size_t n = 0; n < N; ++n) {
      row[n] = hn::LoadU(kFloats, b + n * kLanes);
    }
    add_products(a, a_stride, row, sum);
    a += a_step;
    b += b_stride;
  }
  if (keep != nullptr) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector factor = hn::Set(kFloats, keep[r]);
      HWY_UNROLL(8)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::MulAdd(hn::LoadU(kFloats, c + r * c_stride + n * kLanes), factor, sum[r][n]);
      }
    }
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (size_t n = 0; n < N; ++n) {
      hn::StoreU(sum[r][n], kFloats, c + r * c_stride + n * kLanes);
    }
  }
}

// Calls function with the smallest supported number of rows >= `rows` as a constant.
template <typename Function>
HWY_INLINE void with_rows(size_t rows, const Function& function) {
  if constexpr (kRows % 3 == 0) {
    if (rows > kRows * 2 / 3) {
      function(Constant<kRows>());
    } else if (rows > kRows / 3) {
      function(Constant<kRows * 2 / 3>());
    } else if (rows > 1) {
      function(Constant<kRows / 3>());
    } else {
      function(Constant<1>());
    }
  } else {
    if (rows > kRows / 2) {
      function(Constant<kRows>());
    } else if (rows > 1) {
      function(Constant<kRows / 2>());
    } else {
      function(Constant<1>());
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
