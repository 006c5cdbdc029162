// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fixed_point_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/memory.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/fixed_point_rows.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/gemm/fixed_point-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

#if ETX_BYTE_DOT
ETX_BYTE_DOT_BEGIN

// What digits can hold, as a float that is no larger, and the power of two above it.
struct Range {
  float largest;
  int exponent;
};

HWY_INLINE Range range_of(size_t digits) {
  return digits == 3 ? Range{0x7F7F7Fp0f, 23} : Range{0x7F7F7Fp8f, 31};
}

HWY_INLINE float power_of_two(int exponent) {
  return hwy::BitCastScalar<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

// The exponent of the unit of numbers up to `max`.
HWY_INLINE int unit_exponent(float max, const Range& range) {
  constexpr int kLeast = -95; // so that units are normal numbers
  const int above = static_cast<int>(hwy::BitCastScalar<uint32_t>(max) >> 23) - 126;
  const int exponent = std::max(kLeast, above) - range.exponent;
  return max * power_of_two(-exponent) > range.largest ? exponent + 1 : exponent;
}

// Vectors of whole eights.
constexpr size_t kVectors = kLanes < FixedPointDepth::kEight ? FixedPointDepth::kEight / kLanes : 1;
constexpr size_t kStep = kVectors * kLanes;

// Of each eight those at even places first.
HWY_INLINE void order_eights(hn::Vec<Integers> (&v)[kVectors]) {
#if HWY_MAX_BYTES == 64
  HWY_ALIGN static constexpr int32_t kEvenFirst[16] = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  v[0] = hn::TableLookupLanes(v[0], hn::SetTableIndices(kIntegers, kEvenFirst));
#else
  static_assert(kVectors == 2, "vectors of four");
  const auto even = hn::ConcatEven(kIntegers, v[1], v[0]);
  v[1] = hn::ConcatOdd(kIntegers, v[1], v[0]);
  v[0] = even;
#endif
}

// The digits of each four integers.
HWY_INLINE hn::Vec<Digits> digits_of(hn::Vec<Integers> integers) {
  HWY_ALIGN static constexpr int8_t kByDigit[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  const auto halves = hn::Set(kIntegers, static_cast<int32_t>(0x80808080)); // a digit of 128 or more carries
  const auto bytes = hn::Xor(hn::Add(integers, halves), halves);
  return hn::TableLookupBytes(hn::BitCast(kDigits, bytes), hn::LoadDup128(kDigits, kByDigit));
}

// `count` numbers, filled up with zeros to a multiple of eight. May write room for eight more.
bool convert_block(
    const float* x, size_t count, size_t digits, int8_t* to, int32_t* digit_sum, float* unit, float* sum) {
  const auto load = [x, count](size_t i) HWY_ATTR {
    return i + kLanes <= count ? hn::LoadU(kFloats, x + i) : hn::LoadN(kFloats, x + i, count - std::min(count, i));
  };
  Vector largest = hn::Zero(kFloats);
  for (size_t i = 0; i < count; i += kLanes) {
    largest = hn::Max(largest, hn::Abs(load(i)));
  }
  const float max = hn::ReduceMax(kFloats, largest);
  if (!(max <= std::numeric_limits<float>::max())) {
    return false;
  }
  const int exponent = unit_exponent(max, range_of(digits));
  const Vector factor = hn::Set(kFloats, power_of_two(-exponent));
  Vector lost = hn::Zero(kFloats), all = hn::Zero(kFloats);
  auto sums = hn::Zero(kIntegers);
  for (size_t i = 0; i < count; i += kStep) {
    hn::Vec<Integers> integers[kVectors];
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v) {
      const Vector scaled = hn::Mul(load(i + v * kLanes), factor);
      integers[v] = hn::NearestInt(scaled);
      lost = hn::Add(lost, hn::AbsDiff(scaled, hn::ConvertTo(kFloats, integers[v])));
      all = hn::Add(all, hn::Abs(scaled));
    }
    order_eights(integers);
    HWY_UNROLL(2)
    for (size_t v = 0; v < kVectors; ++v) {
      const auto of_vector = digits_of(integers[v]);
      hn::StoreU(of_vector, kDigits, to + (i + v * kLanes) * FixedPointRows::kMaxDigits);
      sums = dot(hn::Set(kBytes, 1), of_vector, sums);
    }
  }
  HWY_ALIGN int32_t of_lanes[kLanes];
  hn::Store(sums, kIntegers, of_lanes);
  double total = 0, weight = 1;
  for (size_t d = 0; d < FixedPointRows::kMaxDigits; ++d, weight *= 256) {
    digit_sum[d] = 0;
    for (size_t lane = d; lane < kLanes; lane += FixedPointRows::kMaxDigits) {
      digit_sum[d] += of_lanes[lane];
    }
    total += digit_sum[d] * weight;
  }
  *unit = power_of_two(exponent);
  *sum = static_cast<float>(total);
  const float scaled = max * power_of_two(-exponent), own = std::abs(scaled - std::rint(scaled));
  const float others = hn::ReduceSum(kFloats, all) - scaled;
  return hn::ReduceSum(kFloats, lost) - own <= 0x1p-17f * others; // false if a number is NaN
}

bool convert_row(const float* x, const FixedPointRows& rows, size_t row) {
  const FixedPointDepth& depth = rows.depth;
  int8_t* to = rows.digit + row * rows.stride();
  size_t block = row * depth.blocks();
  for (size_t g = 0; g < depth.groups; ++g, x += depth.group_size) {
    for (size_t i = 0; i < depth.group_size; i += FixedPointDepth::kBlock, ++block) {
      const size_t count = std::min(FixedPointDepth::kBlock, depth.group_size - i);
      int32_t* const sums = rows.digit_sum + block * FixedPointRows::kMaxDigits;
      if (!convert_block(x + i, count, rows.digits, to, sums, rows.unit + block, rows.sum + block)) {
        return false;
      }
      to += round_up(count, FixedPointDepth::kEight) * FixedPointRows::kMaxDigits;
    }
  }
  return true;
}

ETX_BYTE_DOT_END
#else

bool convert_row(const float*, const FixedPointRows&, size_t) {
  return false;
}

#endif

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(convert_row);

size_t fixed_point_rows_bytes(const FixedPointDepth& depth, size_t rows) {
  FixedPointRows x;
  x.depth = depth;
  const size_t of_blocks = FixedPointRows::kMaxDigits * sizeof(int32_t) + 2 * sizeof(float);
  return rows * (x.stride() + depth.blocks() * of_blocks);
}

FixedPointRows place_fixed_point_rows(const FixedPointDepth& depth, size_t rows, void* memory) {
  FixedPointRows x;
  x.depth = depth;
  const size_t blocks = rows * depth.blocks();
  x.digit = static_cast<int8_t*>(memory);
  x.digit_sum = reinterpret_cast<int32_t*>(x.digit + rows * x.stride());
  x.unit = reinterpret_cast<float*>(x.digit_sum + blocks * FixedPointRows::kMaxDigits);
  x.sum = x.unit + blocks;
  return x;
}

bool convert_to_fixed_point(const float* x, const FixedPointRows& rows, size_t row) {
  return ETX_DISPATCH(convert_row)(x, rows, row);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
