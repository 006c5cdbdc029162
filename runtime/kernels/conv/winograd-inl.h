// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The transforms of Winograd's convolutions, compiled for each instruction set: include it after foreach_target.h,
// without a guard of the usual kind.

#if defined(ET_XNNPACK_WINOGRAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_WINOGRAD_INL_H
#undef ET_XNNPACK_WINOGRAD_INL_H
#else
#define ET_XNNPACK_WINOGRAD_INL_H
#endif

#include <cstddef>
#include <type_traits>

#include <hwy/highway.h>

#include "runtime/base/dtype.h"
#include "runtime/kernels/simd/reduced_float-inl.h"
#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// A line of a tile, its taps and its results are polynomials of degree kTile + 1, 2 and kTile - 1, whose products are
// known by their values at 0, at kPairs numbers and their negatives, and at infinity. The numbers are exact in
// float32, and so are their squares and what the coefficients below are made of.
template <size_t kPairs>
struct Points;
template <>
struct Points<1> {
  static constexpr double kValues[] = {1};
};
template <>
struct Points<2> {
  static constexpr double kValues[] = {0.75, 1.5}; // half the error of 1 and 2
};

// Coefficients of the product of x - v * v over all values v but number `without`, lowest first.
template <size_t kPairs>
struct Coefficients {
  double values[kPairs + 1];

  constexpr explicit Coefficients(size_t without = kPairs) : values{1} {
    size_t degree = 0;
    for (size_t i = 0; i < kPairs; ++i) {
      if (i == without) {
        continue;
      }
      const double square = Points<kPairs>::kValues[i] * Points<kPairs>::kValues[i];
      values[degree + 1] = values[degree];
      for (size_t k = degree; k > 0; --k) {
        values[k] = values[k - 1] - square * values[k];
      }
      values[0] *= -square;
      ++degree;
    }
  }
};

template <size_t kPairs>
struct Winograd {
  static constexpr size_t kTile = 2 * kPairs; // outputs in a line
  static constexpr size_t kSize = kTile + 2; // inputs in a line, and positions
  static constexpr size_t kPositions = kSize * kSize;
  using Line = Vector[kSize];

  static constexpr float value(size_t pair) {
    return static_cast<float>(Points<kPairs>::kValues[pair]);
  }

  // d: pixels; v: what is multiplied at 0, at each value and its negative, at infinity.
  static HWY_INLINE void transform_input(const Line& d, Line& v) {
    constexpr Coefficients<kPairs> kAll;
    Vector first = d[kTile], last = d[kTile + 1];
    HWY_UNROLL(2)
    for (size_t i = 0; i < kPairs; ++i) {
      const Vector factor = hn::Set(kFloats, static_cast<float>(kAll.values[i]));
      first = hn::MulAdd(factor, d[2 * i], first);
      last = hn::MulAdd(factor, d[2 * i + 1], last);
    }
    v[0] = first;
    v[kSize - 1] = last;
    HWY_UNROLL(2)
    for (size_t pair = 0; pair < kPairs; ++pair) {
      const Coefficients<kPairs> others(pair);
      Vector even = d[kTile], odd = d[kTile - 1];
      HWY_UNROLL(2)
      for (size_t i = 0; i + 1 < kPairs; ++i) {
        const Vector factor = hn::Set(kFloats, static_cast<float>(others.values[i]));
        even = hn::MulAdd(factor, d[2 * i + 2], even);
        odd = hn::MulAdd(factor, d[2 * i + 1], odd);
      }
      const Vector x = hn::Set(kFloats, value(pair));
      v[1 + 2 * pair] = hn::MulAdd(x, odd, even);
      v[2 + 2 * pair] = hn::NegMulAdd(x, odd, even);
    }
  }

  // products, in the order of transform_input; y: pixels of the output.
  static HWY_INLINE void transform_output(const Line& products, Vector (&y)[kTile]) {
    Vector sum[kPairs], difference[kPairs];
    HWY_UNROLL(2)
    for (size_t pair = 0; pair < kPairs; ++pair) {
      sum[pair] = hn::Add(products[1 + 2 * pair], products[2 + 2 * pair]);
      difference[pair] = hn::Sub(products[1 + 2 * pair], products[2 + 2 * pair]);
    }
    float power[kPairs];
    HWY_UNROLL(2)
    for (size_t pair = 0; pair < kPairs; ++pair) {
      power[pair] = 1;
    }
    HWY_UNROLL(4)
    for (size_t i = 0; i < kTile; ++i) {
      const Vector(&terms)[kPairs] = i % 2 == 0 ? sum : difference;
      Vector result = i == 0 ? products[0] : i == kTile - 1 ? products[kSize - 1] : hn::Zero(kFloats);
      HWY_UNROLL(2)
      for (size_t pair = 0; pair < kPairs; ++pair) {
        result = hn::MulAdd(hn::Set(kFloats, power[pair]), terms[pair], result);
        power[pair] *= value(pair);
      }
      y[i] = result;
    }
  }

  // Factors of the three taps of a line at each position.
  static void weight_factors(double (&factors)[kSize][3]) {
    const Coefficients<kPairs> all;
    factors[0][0] = 1 / all.values[0];
    factors[0][1] = factors[0][2] = 0;
    for (size_t pair = 0; pair < kPairs; ++pair) {
      const double x = Points<kPairs>::kValues[pair], square = x * x;
      double divisor = 2 * square;
      for (size_t other = 0; other < kPairs; ++other) {
        const double y = Points<kPairs>::kValues[other];
        divisor *= other == pair ? 1 : square - y * y;
      }
      for (size_t negative = 0; negative < 2; ++negative) {
        double(&row)[3] = factors[1 + 2 * pair + negative];
        row[0] = 1 / divisor;
        row[1] = (negative != 0 ? -x : x) / divisor;
        row[2] = square / divisor;
      }
    }
    factors[kSize - 1][0] = factors[kSize - 1][1] = 0;
    factors[kSize - 1][2] = 1;
  }
};

// Channels of a pixel, which are floats or, in 16 bits, those of BFloat16.
HWY_INLINE Vector load_channels(const float* from) {
  return hn::LoadU(kFloats, from);
}
HWY_INLINE Vector load_channels(const uint16_t* from) {
  return widen_bfloat16(hn::LoadU(kReducedFloats, from));
}
// The first ones, and zeros.
HWY_INLINE Vector load_channels(const float* from, size_t count) {
  return hn::LoadN(kFloats, from, count);
}
HWY_INLINE Vector load_channels(const uint16_t* from, size_t count) {
  return widen_bfloat16(hn::LoadN(kReducedFloats, from, count));
}

// Calls function with the image, as floats or as the bits of BFloat16.
template <typename Layer, typename Function>
HWY_INLINE void with_image(const Layer& layer, const Function& function) {
  if (layer.input_type == DType::Float32) {
    function(static_cast<const float*>(layer.input));
  } else {
    function(static_cast<const uint16_t*>(layer.input));
  }
}

// Calls function with the number of pairs of points for a tile, as a constant.
template <typename Function>
HWY_INLINE void with_pairs(size_t tile, const Function& function) {
  if (tile == 2) {
    function(std::integral_constant<size_t, 1>());
  } else {
    function(std::integral_constant<size_t, 2>());
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
