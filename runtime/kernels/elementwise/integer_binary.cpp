// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "binary.h"

#include <atomic>
#include <type_traits>

#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/integer_binary.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "element-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Arithmetic wraps. Not all targets have products of bytes: those at even and odd places are made as 16 bits.
template <class V>
HWY_INLINE V product(V a, V b) {
  const hn::DFromV<V> tag;
  if constexpr (sizeof(hn::TFromD<decltype(tag)>) == 1) {
    const hn::Repartition<uint16_t, decltype(tag)> shorts;
    const auto p = hn::BitCast(shorts, a), q = hn::BitCast(shorts, b);
    const auto even = hn::Mul(p, q);
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(p), hn::ShiftRight<8>(q)));
    return hn::OddEven(hn::BitCast(tag, odd), hn::BitCast(tag, even));
  } else {
    return hn::Mul(a, b);
  }
}

template <BinaryFunction kFunction, class V>
HWY_INLINE V vectors(V a, V b) {
  if constexpr (kFunction == BinaryFunction::Add) {
    return hn::Add(a, b);
  } else if constexpr (kFunction == BinaryFunction::Sub) {
    return hn::Sub(a, b);
  } else if constexpr (kFunction == BinaryFunction::Mul) {
    return product(a, b);
  } else if constexpr (kFunction == BinaryFunction::Maximum) {
    return hn::Max(a, b);
  } else if constexpr (kFunction == BinaryFunction::Minimum) {
    return hn::Min(a, b);
  } else if constexpr (kFunction == BinaryFunction::BitAnd) {
    return hn::And(a, b);
  } else if constexpr (kFunction == BinaryFunction::BitOr) {
    return hn::Or(a, b);
  } else {
    return hn::Xor(a, b);
  }
}

template <BinaryFunction kFunction, typename T>
void integer_blocks(const RowOperand* operands, void* y, size_t count) {
  const hn::ScalableTag<T> tag;
  constexpr size_t kLanes = hn::MaxLanes(tag), kBlock = HWY_MIN(4 * kLanes, kMaxBlock);
  Blocks<T, kBlock> a(operands[0]), b(operands[1]);
  T* const to = static_cast<T*>(y);
  for (size_t i = 0; i < count; i += kBlock) {
    const T *const p = a.next(), *const q = b.next();
    for (size_t k = 0; k < kBlock; k += kLanes) {
      hn::StoreU(vectors<kFunction>(hn::LoadU(tag, p + k), hn::LoadU(tag, q + k)), tag, to + i + k);
    }
  }
}

template <BinaryFunction kFunction, typename T>
void integers(const RowOperand* operands, void* y, size_t count) {
  constexpr size_t kBlock = HWY_MIN(4 * hn::MaxLanes(hn::ScalableTag<T>()), kMaxBlock);
  run_in_blocks(integer_blocks<kFunction, T>, {kBlock, 2, {sizeof(T), sizeof(T)}, sizeof(T)}, operands, y, count);
}

// The type that a function of `T` works on: where the sign makes no difference, without one.
template <BinaryFunction kFunction, typename T>
using Worked = std::conditional_t<
    kFunction == BinaryFunction::Maximum || kFunction == BinaryFunction::Minimum,
    T,
    std::make_unsigned_t<T>>;

RowFunction choose_integer(BinaryFunction function, DType dtype) {
  return with_type(dtype, [&](auto zero) -> RowFunction {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      switch (function) {
        case BinaryFunction::Add:
          return integers<BinaryFunction::Add, Worked<BinaryFunction::Add, T>>;
        case BinaryFunction::Sub:
          return integers<BinaryFunction::Sub, Worked<BinaryFunction::Sub, T>>;
        case BinaryFunction::Mul:
          return integers<BinaryFunction::Mul, Worked<BinaryFunction::Mul, T>>;
        case BinaryFunction::Maximum:
          return integers<BinaryFunction::Maximum, Worked<BinaryFunction::Maximum, T>>;
        case BinaryFunction::Minimum:
          return integers<BinaryFunction::Minimum, Worked<BinaryFunction::Minimum, T>>;
        case BinaryFunction::BitAnd:
          return integers<BinaryFunction::BitAnd, Worked<BinaryFunction::BitAnd, T>>;
        case BinaryFunction::BitOr:
          return integers<BinaryFunction::BitOr, Worked<BinaryFunction::BitOr, T>>;
        case BinaryFunction::BitXor:
          return integers<BinaryFunction::BitXor, Worked<BinaryFunction::BitXor, T>>;
        default:
          break;
      }
    }
    return nullptr;
  });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_integer);

namespace {

// Numbers that 32 bits hold are divided as such, which is much faster on many CPUs.
template <typename T>
bool are_short(T a, T b) {
  return sizeof(T) == 8 && ((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32) == 0;
}

// REQUIRES: b != 0
template <typename T>
T truncated_rest(T a, T b) {
  if (are_short(a, b)) {
    return static_cast<T>(static_cast<uint32_t>(a) % static_cast<uint32_t>(b));
  }
  return b == T(-1) && std::is_signed_v<T> ? T(0) : static_cast<T>(a % b);
}
template <typename T>
T floored_rest(T a, T b) {
  const T rest = truncated_rest(a, b);
  return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}
template <typename T>
T floored_quotient(T a, T b) {
  if (are_short(a, b)) {
    return static_cast<T>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
  }
  if (b == T(-1) && std::is_signed_v<T>) {
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
  }
  return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
}

// T is an integer, kFunction one of the three above.
template <typename T, T (*kFunction)(T, T)>
class DivisionRow final : public Row {
 public:
  void run(const RowOperand* operands, void* y, size_t count) const override {
    const T* const a = static_cast<const T*>(operands[0].data);
    const T* const b = static_cast<const T*>(operands[1].data);
    const size_t next_a = operands[0].moves ? 1 : 0, next_b = operands[1].moves ? 1 : 0;
    T* const to = static_cast<T*>(y);
    for (size_t i = 0; i < count; ++i) {
      const T divisor = b[i * next_b];
      if (divisor == 0) {
        by_zero_.store(true, std::memory_order_relaxed);
        to[i] = 0;
      } else {
        to[i] = kFunction(a[i * next_a], divisor);
      }
    }
  }
  const char* take_failure() override {
    return by_zero_.exchange(false, std::memory_order_relaxed) ? "an integer is divided by zero" : nullptr;
  }

 private:
  mutable std::atomic<bool> by_zero_{false};
};

std::unique_ptr<Row> division_row(BinaryFunction function, DType dtype) {
  return with_type(dtype, [&](auto zero) -> std::unique_ptr<Row> {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      switch (function) {
        case BinaryFunction::FloorDiv:
          return std::make_unique<DivisionRow<T, floored_quotient<T>>>();
        case BinaryFunction::Remainder:
          return std::make_unique<DivisionRow<T, floored_rest<T>>>();
        case BinaryFunction::Fmod:
          return std::make_unique<DivisionRow<T, truncated_rest<T>>>();
        default:
          break;
      }
    }
    return nullptr;
  });
}

} // namespace

std::unique_ptr<Row> integer_row(BinaryFunction function, DType dtype) {
  if (is_reduced_float(dtype)) {
    return nullptr;
  }
  const RowFunction vectorized = ETX_DISPATCH(choose_integer)(function, dtype);
  return vectorized != nullptr ? std::make_unique<FunctionRow>(vectorized) : division_row(function, dtype);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
