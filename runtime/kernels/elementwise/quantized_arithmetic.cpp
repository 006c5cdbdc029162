// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantized_arithmetic.h"

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/simd/avx512.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/quantized_arithmetic.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"

#ifndef ET_XNNPACK_QUANTIZED_ARITHMETIC_H
#define ET_XNNPACK_QUANTIZED_ARITHMETIC_H
namespace executorch::backends::et_xnnpack {

// Of the result's integers: a * of_a + b * of_b + offset, to which the zero point is added when it is rounded.
struct QuantizedSum {
  float of_a, of_b, offset;
  int8_t zero_point;
};

// Likewise: (a - zero_of_a) * (b - zero_of_b) * scale.
struct QuantizedProduct {
  float zero_of_a, zero_of_b, scale;
  int8_t zero_point;
};

} // namespace executorch::backends::et_xnnpack
#endif // ET_XNNPACK_QUANTIZED_ARITHMETIC_H

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Floats>;
using Bytes = hn::Rebind<int8_t, Floats>; // a quarter of a vector
using Shorts = hn::Repartition<int16_t, Floats>;
using AllBytes = hn::Repartition<int8_t, Floats>;

// Of numbers that 32 bits hold.
HWY_INLINE hn::Vec<Integers> nearest(Vector x) {
#if HWY_ARCH_X86
  return hn::NearestIntInRange(Integers(), x);
#else
  return hn::NearestInt(x);
#endif
}

HWY_INLINE Vector number(hn::Vec<Bytes> x) {
  return hn::ConvertTo(kFloats, hn::PromoteTo(Integers(), x));
}

HWY_INLINE Vector combine(const QuantizedSum& p, hn::Vec<Bytes> a, hn::Vec<Bytes> b) {
  const Vector rest = hn::MulAdd(number(b), hn::Set(kFloats, p.of_b), hn::Set(kFloats, p.offset));
  return hn::MulAdd(number(a), hn::Set(kFloats, p.of_a), rest);
}

// The product of the integers is exact.
HWY_INLINE Vector combine(const QuantizedProduct& p, hn::Vec<Bytes> a, hn::Vec<Bytes> b) {
  const Vector of_a = hn::Sub(number(a), hn::Set(kFloats, p.zero_of_a));
  const Vector of_b = hn::Sub(number(b), hn::Set(kFloats, p.zero_of_b));
  return hn::Mul(hn::Mul(of_a, of_b), hn::Set(kFloats, p.scale));
}

template <bool kMoves>
HWY_INLINE hn::Vec<Bytes> load(const int8_t* from, size_t i) {
  return kMoves ? hn::LoadU(Bytes(), from + i) : hn::Set(Bytes(), *from);
}

template <bool kMoves>
HWY_INLINE hn::Vec<Bytes> load_some(const int8_t* from, size_t i, size_t count) {
  return kMoves ? hn::LoadN(Bytes(), from + i, count) : hn::Set(Bytes(), *from);
}

template <bool kMovesA, bool kMovesB, typename Parameters>
void combine_all(const Parameters& p, const int8_t* a, const int8_t* b, int8_t* HWY_RESTRICT y, size_t count) {
  constexpr size_t kStep = 4 * kLanes;
  constexpr Shorts kShorts{};
  constexpr AllBytes kAllBytes{};
  const auto zero_point = hn::Set(kShorts, p.zero_point);
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    hn::Vec<Integers> found[4];
    HWY_UNROLL(4)
    for (size_t n = 0; n < 4; ++n) {
      found[n] = nearest(combine(p, load<kMovesA>(a, i + n * kLanes), load<kMovesB>(b, i + n * kLanes)));
    }
    const auto low = hn::SaturatedAdd(hn::OrderedDemote2To(kShorts, found[0], found[1]), zero_point);
    const auto high = hn::SaturatedAdd(hn::OrderedDemote2To(kShorts, found[2], found[3]), zero_point);
    hn::StoreU(hn::OrderedDemote2To(kAllBytes, low, high), kAllBytes, y + i);
  }
  using SomeShorts = hn::Rebind<int16_t, Floats>;
  for (; i < count; i += kLanes) {
    const size_t left = std::min(kLanes, count - i);
    const auto found = nearest(combine(p, load_some<kMovesA>(a, i, left), load_some<kMovesB>(b, i, left)));
    const auto moved = hn::SaturatedAdd(hn::DemoteTo(SomeShorts(), found), hn::Set(SomeShorts(), p.zero_point));
    hn::StoreN(hn::DemoteTo(Bytes(), moved), Bytes(), y + i, left);
  }
}

template <typename Parameters>
void combine_rows(const Parameters& p, const RowOperand* operands, int8_t* y, size_t count) {
  const bool a_moves = operands[0].moves, b_moves = operands[1].moves;
  const auto* const a = static_cast<const int8_t*>(operands[0].data);
  const auto* const b = static_cast<const int8_t*>(operands[1].data);
  (a_moves && b_moves ? combine_all<true, true, Parameters>
       : a_moves      ? combine_all<true, false, Parameters>
       : b_moves      ? combine_all<false, true, Parameters>
                      : combine_all<false, false, Parameters>)(p, a, b, y, count);
}

void quantized_sum(const QuantizedSum& p, const RowOperand* operands, int8_t* y, size_t count) {
  combine_rows(p, operands, y, count);
}

void quantized_product(const QuantizedProduct& p, const RowOperand* operands, int8_t* y, size_t count) {
  combine_rows(p, operands, y, count);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(quantized_sum);
HWY_EXPORT(quantized_product);

namespace {

template <typename Parameters>
class QuantizedRow final : public Row {
 public:
  using Function = void (*)(const Parameters& parameters, const RowOperand* operands, int8_t* y, size_t count);

  QuantizedRow(const Parameters& parameters, Function function) : parameters_(parameters), function_(function) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    function_(parameters_, operands, static_cast<int8_t*>(y), count);
  }

 private:
  Parameters parameters_;
  Function function_;
};

} // namespace

std::unique_ptr<Row> quantized_sum_row(
    const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& y, bool subtracts) {
  QuantizedSum sum{};
  const double of_a = static_cast<double>(a.scale) / y.scale;
  const double of_b = (subtracts ? -1.0 : 1.0) * b.scale / y.scale;
  sum.of_a = static_cast<float>(of_a);
  sum.of_b = static_cast<float>(of_b);
  sum.offset = static_cast<float>(-of_a * a.zero_point - of_b * b.zero_point);
  sum.zero_point = static_cast<int8_t>(y.zero_point);
  return std::make_unique<QuantizedRow<QuantizedSum>>(sum, ETX_DISPATCH(quantized_sum));
}

std::unique_ptr<Row> quantized_product_row(
    const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& y) {
  QuantizedProduct product{};
  product.zero_of_a = static_cast<float>(a.zero_point);
  product.zero_of_b = static_cast<float>(b.zero_point);
  product.scale = static_cast<float>(static_cast<double>(a.scale) * b.scale / y.scale);
  product.zero_point = static_cast<int8_t>(y.zero_point);
  return std::make_unique<QuantizedRow<QuantizedProduct>>(product, ETX_DISPATCH(quantized_product));
}

bool has_fast_quantized_arithmetic() {
  return has_avx512();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
