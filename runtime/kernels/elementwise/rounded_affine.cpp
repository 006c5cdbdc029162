// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "rounded_affine.h"

#include <algorithm>
#include <type_traits>

#include "bfloat16_affine.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/rounded_affine.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/reduced_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

struct InBFloat16 {
  static HWY_INLINE Vector widen(hn::Vec<ReducedFloats> x) {
    return widen_bfloat16(x);
  }
  static HWY_INLINE hn::Vec<ReducedFloats> narrow(Vector x) {
    return narrow_bfloat16(x);
  }
  static HWY_INLINE Vector round(Vector x) {
    return hn::BitCast(kFloats, hn::And(round_bfloat16_bits(x), hn::Set(kWords, 0xFFFF0000)));
  }
};

struct InFloat16 {
  static HWY_INLINE Vector widen(hn::Vec<ReducedFloats> x) {
    return widen_float16(x);
  }
  static HWY_INLINE hn::Vec<ReducedFloats> narrow(Vector x) {
    return narrow_float16(x);
  }
  static HWY_INLINE Vector round(Vector x) {
    return widen_float16(narrow_float16(x));
  }
};

using Result = RoundedAffine::Result;

// x as it is read, rounded.
template <typename Type, bool kReducedX>
struct RoundedX {
  using Element = std::conditional_t<kReducedX, uint16_t, float>;

  static HWY_INLINE Vector load(const void* x, size_t i) {
    const Element* const from = static_cast<const Element*>(x) + i;
    if constexpr (kReducedX) {
      return Type::widen(hn::LoadU(kReducedFloats, from));
    } else {
      return Type::round(hn::LoadU(kFloats, from));
    }
  }
  static HWY_INLINE Vector load(const void* x, size_t i, size_t count) {
    const Element* const from = static_cast<const Element*>(x) + i;
    if constexpr (kReducedX) {
      return Type::widen(hn::LoadN(kReducedFloats, from, count));
    } else {
      return Type::round(hn::LoadN(kFloats, from, count));
    }
  }
  static HWY_INLINE Vector set(const void* x) {
    const Element value = *static_cast<const Element*>(x);
    if constexpr (kReducedX) {
      return Type::widen(hn::Set(kReducedFloats, value));
    } else {
      return Type::round(hn::Set(kFloats, value));
    }
  }
};

template <typename Type, Result kResult>
HWY_INLINE void store(Vector value, void* y, size_t i) {
  if constexpr (kResult == Result::Reduced) {
    hn::StoreU(Type::narrow(value), kReducedFloats, static_cast<uint16_t*>(y) + i);
  } else {
    hn::StoreU(kResult == Result::Rounded ? Type::round(value) : value, kFloats, static_cast<float*>(y) + i);
  }
}

template <typename Type, Result kResult>
HWY_INLINE void store(Vector value, void* y, size_t i, size_t count) {
  if constexpr (kResult == Result::Reduced) {
    hn::StoreN(Type::narrow(value), kReducedFloats, static_cast<uint16_t*>(y) + i, count);
  } else {
    const Vector result = kResult == Result::Rounded ? Type::round(value) : value;
    hn::StoreN(result, kFloats, static_cast<float*>(y) + i, count);
  }
}

template <typename Type, bool kReducedX, Result kResult>
void affine_loop(const RowOperand* operands, void* y, size_t count, float low, float high) {
  using X = RoundedX<Type, kReducedX>;
  const Vector min = hn::Set(kFloats, low), max = hn::Set(kFloats, high);
  const void* const x = operands[0].data;
  const auto *const scale = static_cast<const float*>(operands[1].data),
                    *const shift = static_cast<const float*>(operands[2].data);
  const auto compute = [&](Vector rounded, Vector factor, Vector summand)
                           HWY_ATTR { return clamped(hn::Add(hn::Mul(rounded, factor), summand), min, max); };
  if (operands[0].moves && operands[1].moves && operands[2].moves) {
    const size_t whole = count / kLanes * kLanes;
#pragma GCC unroll 4
    for (size_t i = 0; i < whole; i += kLanes) {
      const Vector value = compute(X::load(x, i), hn::LoadU(kFloats, scale + i), hn::LoadU(kFloats, shift + i));
      store<Type, kResult>(value, y, i);
    }
    if (const size_t rest = count - whole; rest > 0) {
      const Vector factor = hn::LoadN(kFloats, scale + whole, rest), summand = hn::LoadN(kFloats, shift + whole, rest);
      store<Type, kResult>(compute(X::load(x, whole, rest), factor, summand), y, whole, rest);
    }
    return;
  }
  const auto load_floats = [&](size_t k, size_t i, size_t size) HWY_ATTR {
    const float* const from = static_cast<const float*>(operands[k].data);
    return operands[k].moves ? hn::LoadN(kFloats, from + i, size) : hn::Set(kFloats, *from);
  };
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t size = std::min(kLanes, count - i);
    const Vector rounded = operands[0].moves ? X::load(x, i, size) : X::set(x);
    store<Type, kResult>(compute(rounded, load_floats(1, i, size), load_floats(2, i, size)), y, i, size);
  }
}

template <typename Type, bool kReducedX>
void affine_of(Result result, const RowOperand* operands, void* y, size_t count, float low, float high) {
  switch (result) {
    case Result::Float32:
      return affine_loop<Type, kReducedX, Result::Float32>(operands, y, count, low, high);
    case Result::Rounded:
      return affine_loop<Type, kReducedX, Result::Rounded>(operands, y, count, low, high);
    case Result::Reduced:
      return affine_loop<Type, kReducedX, Result::Reduced>(operands, y, count, low, high);
  }
}

template <typename Type>
void affine_in(const RoundedAffine& affine, const RowOperand* operands, void* y, size_t count) {
  const auto function = affine.reduced_x ? affine_of<Type, true> : affine_of<Type, false>;
  function(affine.result, operands, y, count, affine.min, affine.max);
}

void rounded_affine(const RoundedAffine& affine, const RowOperand* operands, void* y, size_t count) {
  const auto function = affine.type == DType::BFloat16 ? affine_in<InBFloat16> : affine_in<InFloat16>;
  function(affine, operands, y, count);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(rounded_affine);

class RoundedAffineRow final : public Row {
 public:
  explicit RoundedAffineRow(const RoundedAffine& affine) : affine_(affine), in_bfloat16_(in_bfloat16(affine)) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    const bool moves = operands[0].moves && operands[1].moves && operands[2].moves;
    if (in_bfloat16_ == nullptr || !moves || count < kBFloat16AffineStep) {
      return function_(affine_, operands, y, count);
    }
    const size_t result_size = affine_.result == RoundedAffine::Result::Reduced ? sizeof(uint16_t) : sizeof(float);
    for (size_t i = 0; i < count; i += kBlock) {
      const size_t size = std::min(kBlock, count - i), steps = size / kBFloat16AffineStep * kBFloat16AffineStep;
      const auto from = [&](size_t k) { return static_cast<const float*>(operands[k].data) + i; };
      char* const to = static_cast<char*>(y) + i * result_size;
      const bool is_done = in_bfloat16_(from(0), from(1), from(2), to, steps, affine_.min, affine_.max);
      if (const size_t done = is_done ? steps : 0; done < size) {
        const RowOperand rest[] = {{from(0) + done, true}, {from(1) + done, true}, {from(2) + done, true}};
        function_(affine_, rest, to + done * result_size, size - done);
      }
    }
  }

 private:
  // By instructions of the CPU's, if there are any.
  static BFloat16Affine in_bfloat16(const RoundedAffine& affine) {
    return affine.type == DType::BFloat16 && !affine.reduced_x ? bfloat16_affine(affine.result) : nullptr;
  }

  static constexpr size_t kBlock = 512; // which is computed again if it has a denormal number

  const RoundedAffine affine_;
  void (*const function_)(const RoundedAffine&, const RowOperand*, void*, size_t) = ETX_DISPATCH(rounded_affine);
  const BFloat16Affine in_bfloat16_;
};

} // namespace

std::unique_ptr<Row> rounded_affine_row(const RoundedAffine& affine) {
  return std::make_unique<RoundedAffineRow>(affine);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
