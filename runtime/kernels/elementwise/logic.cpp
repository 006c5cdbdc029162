// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "logic.h"

#include <type_traits>

#include "float64.h"

#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/logic.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "element-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

struct Equal {
  template <typename V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Eq(a, b);
  }
};
struct NotEqual {
  // Not Ne: NaN differs from everything.
  template <typename V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Not(hn::Eq(a, b));
  }
};
struct Less {
  template <typename V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Lt(a, b);
  }
};
struct LessEqual {
  template <typename V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Le(a, b);
  }
};

// All bits of an integer where the comparison of a vector of elements holds.
template <class Function, typename T>
HWY_INLINE auto compare_vectors(const T* a, const T* b) {
  const hn::RebindToSigned<hn::ScalableTag<T>> integers;
  const hn::ScalableTag<T> tag;
  return hn::BitCast(integers, hn::VecFromMask(tag, Function::of(hn::LoadU(tag, a), hn::LoadU(tag, b))));
}

// The same as bytes, for as many elements as a vector has bytes.
template <class Function, typename T>
HWY_INLINE auto compare_to_bytes(const T* a, const T* b) {
  const hn::ScalableTag<int8_t> bytes;
  const hn::ScalableTag<int16_t> shorts;
  const hn::ScalableTag<int32_t> ints;
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const auto vector = [&](size_t k) HWY_ATTR { return compare_vectors<Function>(a + k * kLanes, b + k * kLanes); };
  if constexpr (sizeof(T) == 1) {
    return vector(0);
  } else if constexpr (sizeof(T) == 4) {
    const auto low = hn::OrderedDemote2To(shorts, vector(0), vector(1));
    const auto high = hn::OrderedDemote2To(shorts, vector(2), vector(3));
    return hn::OrderedDemote2To(bytes, low, high);
  } else {
    const auto four = [&](size_t k) HWY_ATTR {
      const auto low = hn::OrderedDemote2To(ints, vector(k), vector(k + 1));
      const auto high = hn::OrderedDemote2To(ints, vector(k + 2), vector(k + 3));
      return hn::OrderedDemote2To(shorts, low, high);
    };
    return hn::OrderedDemote2To(bytes, four(0), four(4));
  }
}

constexpr size_t kBytes = hn::MaxLanes(hn::ScalableTag<int8_t>());

template <class Function, typename T>
void compare_blocks(const RowOperand* operands, void* y, size_t count) {
  Blocks<T, kBytes> a(operands[0]), b(operands[1]);
  const hn::ScalableTag<int8_t> bytes;
  const auto one = hn::Set(bytes, 1);
  int8_t* const to = static_cast<int8_t*>(y);
  for (size_t i = 0; i < count; i += kBytes) {
    hn::StoreU(hn::And(compare_to_bytes<Function>(a.next(), b.next()), one), bytes, to + i);
  }
}

template <class Function, typename T>
HWY_NOINLINE void compare(const RowOperand* operands, void* y, size_t count) {
  run_in_blocks(compare_blocks<Function, T>, {kBytes, 2, {sizeof(T), sizeof(T)}, 1}, operands, y, count);
}

RowFunction choose_compare(Comparison comparison, DType dtype) {
  return with_type(dtype, [&](auto zero) -> RowFunction {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, double>) { // not all instruction sets have vectors of it
      return nullptr;
    } else {
      switch (comparison) {
        case Comparison::Equal:
          return compare<Equal, T>;
        case Comparison::NotEqual:
          return compare<NotEqual, T>;
        case Comparison::Less:
          return compare<Less, T>;
        case Comparison::LessEqual:
          return compare<LessEqual, T>;
        case Comparison::Greater:
          return swapped<compare<Less, T>>;
        case Comparison::GreaterEqual:
          break;
      }
      return swapped<compare<LessEqual, T>>;
    }
  });
}

template <typename T>
void where_blocks(const RowOperand* operands, void* y, size_t count) {
  const hn::ScalableTag<T> tag;
  const hn::Rebind<uint8_t, decltype(tag)> bytes;
  constexpr size_t kLanes = hn::MaxLanes(tag);
  Blocks<uint8_t, kBytes> c(operands[0]);
  Blocks<T, kBytes> a(operands[1]), b(operands[2]);
  T* const to = static_cast<T*>(y);
  for (size_t i = 0; i < count; i += kBytes) {
    const uint8_t* const conditions = c.next();
    const T *const yes = a.next(), *const no = b.next();
    for (size_t k = 0; k < kBytes; k += kLanes) {
      const auto wide = [&]() HWY_ATTR {
        if constexpr (sizeof(T) == 1) {
          return hn::LoadU(bytes, conditions + k);
        } else {
          return hn::PromoteTo(tag, hn::LoadU(bytes, conditions + k));
        }
      }();
      const auto chosen = hn::IfThenElse(hn::Eq(wide, hn::Zero(tag)), hn::LoadU(tag, no + k), hn::LoadU(tag, yes + k));
      hn::StoreU(chosen, tag, to + i + k);
    }
  }
}

template <typename T>
void where(const RowOperand* operands, void* y, size_t count) {
  run_in_blocks(where_blocks<T>, {kBytes, 3, {1, sizeof(T), sizeof(T)}, sizeof(T)}, operands, y, count);
}

RowFunction choose_where(size_t element_size) {
  switch (element_size) {
    case 1:
      return where<uint8_t>;
    case 2:
      return where<uint16_t>;
    case 4:
      return where<uint32_t>;
  }
  return where<uint64_t>;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_compare);
HWY_EXPORT(choose_where);

std::unique_ptr<Row> compare_row(Comparison comparison, DType dtype) {
  if (dtype == DType::Float64) {
    return float64_compare_row(comparison);
  }
  return std::make_unique<FunctionRow>(ETX_DISPATCH(choose_compare)(comparison, dtype));
}

std::unique_ptr<Row> where_row(size_t element_size) {
  return std::make_unique<FunctionRow>(ETX_DISPATCH(choose_where)(element_size));
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
