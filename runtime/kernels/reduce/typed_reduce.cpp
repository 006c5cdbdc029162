// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "typed_reduce.h"

#include <algorithm>
#include <array>
#include <functional>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include "runtime/ops/op.h"
#include "runtime/kernels/common/axis_rows.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/move/strided_copy.h"
#include "runtime/kernels/common/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/typed_reduce.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef ET_XNNPACK_TYPED_REDUCE_ONCE
#define ET_XNNPACK_TYPED_REDUCE_ONCE
namespace executorch::backends::et_xnnpack {

// How to reduce elements of one type, further from the totals that are there.
struct Reducer {
  // The totals of nothing.
  void (*start)(void* totals, size_t count);
  // Of `count` neighbours.
  void (*row)(const void* x, size_t count, void* total);
  // Of rows that lie `stride` elements apart, for each of the columns.
  void (*columns)(const void* x, size_t rows, size_t stride, size_t columns, void* totals);
};

// The same for the place of an extremum; `count` and `rows` are positive.
struct Finder {
  void (*row)(const void* x, size_t count, int64_t* place);
  void (*columns)(const void* x, size_t rows, size_t stride, size_t columns, int64_t* places);
};

} // namespace executorch::backends::et_xnnpack
#endif

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
void start(void* totals, size_t count) {
  std::fill_n(static_cast<T*>(totals), count, Function::kFirst);
}

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

template <typename T, class Function>
void reduce_row(const void* x, size_t count, void* total) {
  T& to = *static_cast<T*>(total);
  to = total_of_row<T, Function>(static_cast<const T*>(x), count, to);
}

template <typename T, class Function, size_t N>
HWY_INLINE void reduce_strip(const T* x, size_t rows, size_t stride, size_t columns, T* to) {
  constexpr Tag<T> d{};
  constexpr size_t kLanes = kLanesOf<T>;
  const bool whole = columns >= N * kLanes;
  Totals<T, Function, N> totals;
  totals.start();
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    totals.add(n, whole ? hn::LoadU(d, to + n * kLanes) : hn::LoadN(d, to, columns));
  }
  if (whole) {
    for (size_t r = 0; r < rows; ++r, x += stride) {
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        totals.add(n, hn::LoadU(d, x + n * kLanes));
      }
    }
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      hn::StoreU(totals.get(n), d, to + n * kLanes);
    }
  } else {
    for (size_t r = 0; r < rows; ++r, x += stride) {
      totals.add(0, hn::LoadN(d, x, columns));
    }
    hn::StoreN(totals.get(0), d, to, columns);
  }
}

template <typename T, class Function>
void reduce_columns(const void* from, size_t rows, size_t stride, size_t columns, void* totals) {
  constexpr size_t kLanes = kLanesOf<T>;
  const T* const x = static_cast<const T*>(from);
  T* const to = static_cast<T*>(totals);
  size_t c = 0;
  for (; c + 4 * kLanes <= columns; c += 4 * kLanes) {
    reduce_strip<T, Function, 4>(x + c, rows, stride, 4 * kLanes, to + c);
  }
  for (; c < columns; c += kLanes) {
    reduce_strip<T, Function, 1>(x + c, rows, stride, columns - c, to + c);
  }
}

template <typename T, class Function>
Reducer reducer_with() {
  return {start<T, Function>, reduce_row<T, Function>, reduce_columns<T, Function>};
}

template <typename T>
Reducer reducer_of(schema::ReduceKind kind) {
  switch (kind) {
    case schema::ReduceKind::Max:
      return reducer_with<T, MaxOf<T>>();
    case schema::ReduceKind::Min:
      return reducer_with<T, MinOf<T>>();
    case schema::ReduceKind::Prod:
      return reducer_with<T, ProdOf<T>>();
    default:
      return reducer_with<T, SumOf<T>>();
  }
}

Reducer reducer(schema::ReduceKind kind, DType dtype) {
  switch (dtype) {
    case DType::Bool: // the totals are any number that is not 0 for true
      return kind == schema::ReduceKind::Any ? reducer_with<uint8_t, MaxOf<uint8_t>>()
                                             : reducer_with<uint8_t, MinOf<uint8_t>>();
    case DType::Int32:
      return reducer_of<int32_t>(kind);
    case DType::Int64:
      return reducer_of<int64_t>(kind);
    case DType::Int8:
      return reducer_of<int8_t>(kind);
    case DType::UInt8:
      return reducer_of<uint8_t>(kind);
    default:
      return reducer_of<float>(kind);
  }
}

template <typename T, class Function>
size_t find_one(const T* x, size_t count, size_t stride) {
  size_t best = 0;
  for (size_t i = 1; i < count && !is_nan(x[best * stride]); ++i) {
    if (Function::better(x[i * stride], x[best * stride])) {
      best = i;
    }
  }
  return best;
}

// First where the extremum is by block, then in that block.
template <typename T, class Function>
void find_in_row(const void* from, size_t count, int64_t* place) {
  constexpr size_t kBlock = 2048;
  constexpr Tag<T> d{};
  constexpr size_t kLanes = kLanesOf<T>;
  const T* const x = static_cast<const T*>(from);
  T best = *x;
  size_t best_begin = 0;
  for (size_t begin = 0; begin < count && !is_nan(best); begin += kBlock) {
    const T total = total_of_row<T, Function>(x + begin, std::min(kBlock, count - begin), Function::kFirst);
    if (Function::better(total, best)) {
      best = total;
      best_begin = begin;
    }
  }
  const auto wanted = hn::Set(d, best);
  size_t i = best_begin;
  for (; i + kLanes <= count; i += kLanes) {
    const auto v = hn::LoadU(d, x + i);
    auto found = hn::Eq(v, wanted);
    if constexpr (std::is_floating_point_v<T>) {
      found = hn::Or(found, hn::IsNaN(v));
    }
    const intptr_t lane = hn::FindFirstTrue(d, found);
    if (lane >= 0) {
      *place = static_cast<int64_t>(i) + lane;
      return;
    }
  }
  while (i + 1 < count && x[i] != best && !is_nan(x[i])) {
    ++i;
  }
  *place = static_cast<int64_t>(i);
}

// Lanes carry the places of their best elements.
template <typename T, class Function, size_t N>
HWY_INLINE void find_in_strip(const T* x, size_t rows, size_t stride, size_t columns, int64_t* places) {
  constexpr Tag<T> d{};
  constexpr size_t kLanes = kLanesOf<T>;
  constexpr hn::RebindToSigned<Tag<T>> di{};
  using Place = hn::TFromD<decltype(di)>;
  const bool whole = columns >= N * kLanes;
  VectorOf<T> best[N];
  hn::Vec<decltype(di)> place[N];
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    best[n] = whole ? hn::LoadU(d, x + n * kLanes) : hn::LoadN(d, x, columns);
    place[n] = hn::Zero(di);
  }
  const auto one = hn::Set(di, 1);
  auto row = hn::Zero(di);
  for (size_t r = 1; r < rows; ++r) {
    x += stride;
    row = hn::Add(row, one);
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      const auto v = whole ? hn::LoadU(d, x + n * kLanes) : hn::LoadN(d, x, columns);
      auto better = Function::better(v, best[n]); // false next to NaN
      if constexpr (std::is_floating_point_v<T>) {
        better = hn::Or(better, hn::AndNot(hn::IsNaN(best[n]), hn::IsNaN(v)));
      }
      best[n] = hn::IfThenElse(better, v, best[n]);
      place[n] = hn::IfThenElse(hn::RebindMask(di, better), row, place[n]);
    }
  }
  HWY_ALIGN Place each[N * kLanes];
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    hn::Store(place[n], di, each + n * kLanes);
  }
  std::copy_n(each, std::min(columns, N * kLanes), places);
}

template <typename T, class Function>
void find_in_columns(const void* from, size_t rows, size_t stride, size_t columns, int64_t* places) {
  constexpr size_t kLanes = kLanesOf<T>;
  const T* const x = static_cast<const T*>(from);
  size_t c = 0;
  // Lanes hold places of their own size.
  if constexpr (sizeof(T) >= sizeof(int32_t)) {
    if (rows <= size_t{std::numeric_limits<int32_t>::max()}) {
      for (; c + 4 * kLanes <= columns; c += 4 * kLanes) {
        find_in_strip<T, Function, 4>(x + c, rows, stride, 4 * kLanes, places + c);
      }
      for (; c < columns; c += kLanes) {
        find_in_strip<T, Function, 1>(x + c, rows, stride, columns - c, places + c);
      }
    }
  }
  for (; c < columns; ++c) {
    places[c] = static_cast<int64_t>(find_one<T, Function>(x + c, rows, stride));
  }
}

template <typename T>
Finder finder_of(schema::ArgReduceKind kind) {
  return kind == schema::ArgReduceKind::Max ? Finder{find_in_row<T, MaxOf<T>>, find_in_columns<T, MaxOf<T>>}
                                            : Finder{find_in_row<T, MinOf<T>>, find_in_columns<T, MinOf<T>>};
}

Finder finder(schema::ArgReduceKind kind, DType dtype) {
  switch (dtype) {
    case DType::Int32:
      return finder_of<int32_t>(kind);
    case DType::Int64:
      return finder_of<int64_t>(kind);
    case DType::Int8:
      return finder_of<int8_t>(kind);
    case DType::UInt8:
      return finder_of<uint8_t>(kind);
    default:
      return finder_of<float>(kind);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(reducer);
HWY_EXPORT(finder);

namespace {

constexpr size_t kGrain = 16384; // elements
constexpr size_t kColumns = 128; // results computed together

// Some axes of a dense tensor, as if there were no others. Neighbours are merged.
class Axes {
 public:
  void clear() {
    rank_ = 0;
  }
  void add(size_t size, size_t stride) {
    if (size == 1) {
      return;
    }
    if (rank_ > 0 && strides_[rank_ - 1] == size * stride) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = stride;
    } else {
      sizes_[rank_] = size;
      strides_[rank_++] = stride;
    }
  }
  size_t count() const {
    return std::accumulate(sizes_.begin(), sizes_.begin() + rank_, size_t{1}, std::multiplies<>());
  }
  // Where the `i`th element is.
  size_t offset(size_t i) const {
    size_t result = 0;
    for (size_t axis = rank_; axis-- > 0; i /= sizes_[axis]) {
      result += i % sizes_[axis] * strides_[axis];
    }
    return result;
  }
  // The last axis: a row of this many elements, so far apart.
  size_t row_size() const {
    return rank_ == 0 ? 1 : sizes_[rank_ - 1];
  }
  size_t row_stride() const {
    return rank_ == 0 ? 1 : strides_[rank_ - 1];
  }

 private:
  size_t rank_ = 0;
  std::array<size_t, kMaxRank> sizes_{}, strides_{};
};

class TypedReduce final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Reduce>();
    dtype_ = node.input(0).dtype;
    reducer_ = ETX_DISPATCH(reducer)(attributes.kind(), dtype_);
    const Shape& x = node.input(0).shape;
    const Strides strides = dense_strides(x);
    kept_.clear();
    reduced_.clear();
    for (size_t axis = 0; axis < x.rank; ++axis) {
      const auto* axes = attributes.axes();
      const bool reduces = std::find(axes->begin(), axes->end(), axis) != axes->end();
      (reduces ? reduced_ : kept_).add(x[axis], strides[axis]);
    }
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const uint8_t* const x = arguments.input<uint8_t>(0);
    uint8_t* const y = arguments.output<uint8_t>(0);
    const size_t element = element_size(dtype_);
    const size_t count = reduced_.count();
    const size_t row = reduced_.row_size(), stride = reduced_.row_stride();
    const size_t rows = row == 0 ? 0 : count / row;
    // Neighbouring results from neighbouring elements are computed together.
    const size_t width = kept_.row_stride() == 1 ? std::min(kColumns, std::max<size_t>(kept_.row_size(), 1)) : 1;
    parallel_for(
        arguments.pool, kept_.count(), kGrain / (count + 1) / width * width + width, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end;) {
            const size_t left = width == 1 ? 1 : kept_.row_size() - i % kept_.row_size();
            const size_t columns = std::min({width, left, end - i});
            const uint8_t* const from = x + kept_.offset(i) * element;
            uint8_t* const totals = y + i * element;
            reducer_.start(totals, columns);
            for (size_t r = 0; r < rows; ++r) {
              const uint8_t* const p = from + reduced_.offset(r * row) * element;
              if (columns == 1 && stride == 1) {
                reducer_.row(p, row, totals);
              } else {
                reducer_.columns(p, row, stride, columns, totals);
              }
            }
            if (dtype_ == DType::Bool) {
              for (size_t c = 0; c < columns; ++c) {
                totals[c] = totals[c] != 0;
              }
            }
            i += columns;
          }
        });
  }

 private:
  Reducer reducer_{};
  DType dtype_ = DType::Float32;
  Axes kept_, reduced_;
};

class ArgReduce final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::ArgReduce>();
    dtype_ = node.input(0).dtype;
    finder_ = ETX_DISPATCH(finder)(attributes.kind(), dtype_);
    rows_ = AxisRows(node.input(0).shape, attributes.axis());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const uint8_t* const x = arguments.input<uint8_t>(0);
    int64_t* const y = arguments.output<int64_t>(0);
    const size_t element = element_size(dtype_);
    const size_t width = std::min(kColumns, std::max<size_t>(rows_.inner, 1));
    const size_t grain = rows_.grain() / width * width + width;
    parallel_for(arguments.pool, rows_.count(), grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end;) {
        const uint8_t* const from = x + rows_.offset(i) * element;
        const size_t columns = std::min({width, rows_.inner - i % rows_.inner, end - i});
        if (rows_.inner == 1) {
          finder_.row(from, rows_.size, y + i);
        } else {
          finder_.columns(from, rows_.size, rows_.inner, columns, y + i);
        }
        i += columns;
      }
    });
  }

 private:
  Finder finder_{};
  DType dtype_ = DType::Float32;
  AxisRows rows_;
};

} // namespace

std::unique_ptr<Kernel> make_typed_reduce(const NodeContext&) {
  return std::make_unique<TypedReduce>();
}
std::unique_ptr<Kernel> make_arg_reduce(const NodeContext&) {
  return std::make_unique<ArgReduce>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
