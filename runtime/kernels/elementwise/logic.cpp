// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "logic.h"

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
  template <typename T>
  static bool of(T a, T b) {
    return a == b;
  }
  template <typename V>
  static HWY_INLINE auto of_vectors(V a, V b) {
    return hn::Eq(a, b);
  }
};
struct NotEqual {
  template <typename T>
  static bool of(T a, T b) {
    return a != b;
  }
  // Not Ne: NaN differs from everything.
  template <typename V>
  static HWY_INLINE auto of_vectors(V a, V b) {
    return hn::Not(hn::Eq(a, b));
  }
};
struct Less {
  template <typename T>
  static bool of(T a, T b) {
    return a < b;
  }
  template <typename V>
  static HWY_INLINE auto of_vectors(V a, V b) {
    return hn::Lt(a, b);
  }
};
struct LessEqual {
  template <typename T>
  static bool of(T a, T b) {
    return a <= b;
  }
  template <typename V>
  static HWY_INLINE auto of_vectors(V a, V b) {
    return hn::Le(a, b);
  }
};

// All bits of an integer where the comparison of elements [i, i + Lanes) holds.
template <class Function, typename T>
HWY_INLINE auto compare_vectors(const Elements<T>& a, const Elements<T>& b, size_t i) {
  const hn::RebindToSigned<hn::ScalableTag<T>> integers;
  const hn::ScalableTag<T> tag;
  return hn::BitCast(integers, hn::VecFromMask(tag, Function::of_vectors(a.load(i), b.load(i))));
}

// The same as bytes, for as many elements as a vector has bytes.
template <class Function, typename T>
HWY_INLINE auto compare_to_bytes(const Elements<T>& a, const Elements<T>& b, size_t i) {
  const hn::ScalableTag<int8_t> bytes;
  const hn::ScalableTag<int16_t> shorts;
  const hn::ScalableTag<int32_t> ints;
  const size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const auto vector = [&](size_t k) HWY_ATTR { return compare_vectors<Function>(a, b, i + k * lanes); };
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

template <class Function, typename T, bool kSwapped>
void compare(const RowOperand* operands, void* y, size_t count) {
  const Elements<T> a(operands[kSwapped ? 1 : 0]), b(operands[kSwapped ? 0 : 1]);
  const hn::ScalableTag<int8_t> bytes;
  const auto one = hn::Set(bytes, 1);
  const size_t lanes = hn::Lanes(bytes);
  int8_t* const to = static_cast<int8_t*>(y);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::And(compare_to_bytes<Function>(a, b, i), one), bytes, to + i);
  }
  for (; i < count; ++i) {
    to[i] = Function::of(a[i], b[i]) ? 1 : 0;
  }
}

RowFunction choose_compare(Comparison comparison, DType dtype) {
  return with_type(dtype, [&](auto zero) -> RowFunction {
    using T = decltype(zero);
    switch (comparison) {
      case Comparison::Equal:
        return compare<Equal, T, false>;
      case Comparison::NotEqual:
        return compare<NotEqual, T, false>;
      case Comparison::Less:
        return compare<Less, T, false>;
      case Comparison::LessEqual:
        return compare<LessEqual, T, false>;
      case Comparison::Greater:
        return compare<Less, T, true>;
      case Comparison::GreaterEqual:
        break;
    }
    return compare<LessEqual, T, true>;
  });
}

template <typename T>
void where(const RowOperand* operands, void* y, size_t count) {
  const hn::ScalableTag<T> tag;
  const hn::Rebind<uint8_t, decltype(tag)> bytes;
  const size_t lanes = hn::Lanes(tag);
  const uint8_t* const c = static_cast<const uint8_t*>(operands[0].data);
  const Elements<T> a(operands[1]), b(operands[2]);
  T* const to = static_cast<T*>(y);
  size_t i = 0;
  if (operands[0].moves) {
    for (; i + lanes <= count; i += lanes) {
      const auto wide = [&]() HWY_ATTR {
        if constexpr (sizeof(T) == 1) {
          return hn::LoadU(bytes, c + i);
        } else {
          return hn::PromoteTo(tag, hn::LoadU(bytes, c + i));
        }
      }();
      hn::StoreU(hn::IfThenElse(hn::Eq(wide, hn::Zero(tag)), b.load(i), a.load(i)), tag, to + i);
    }
  }
  for (; i < count; ++i) {
    to[i] = c[operands[0].moves ? i : 0] != 0 ? a[i] : b[i];
  }
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
  return std::make_unique<FunctionRow>(ETX_DISPATCH(choose_compare)(comparison, dtype));
}

std::unique_ptr<Row> where_row(size_t element_size) {
  return std::make_unique<FunctionRow>(ETX_DISPATCH(choose_where)(element_size));
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
