// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "arg_reduce.h"

#include <algorithm>

#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/arg_reduce.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

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

// Finds the block that has the extremum, then the element in that block.
template <typename T, class Function>
void find_in_row(const void* from, size_t count, int64_t* index) {
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
      *index = static_cast<int64_t>(i) + lane;
      return;
    }
  }
  while (i + 1 < count && x[i] != best && !is_nan(x[i])) {
    ++i;
  }
  *index = static_cast<int64_t>(i);
}

// Lanes carry the indices of their best elements.
template <typename T, class Function, size_t N>
HWY_INLINE void find_in_strip(const T* x, size_t rows, size_t stride, size_t columns, int64_t* indices) {
  constexpr Tag<T> d{};
  constexpr size_t kLanes = kLanesOf<T>;
  constexpr hn::RebindToSigned<Tag<T>> di{};
  using Index = hn::TFromD<decltype(di)>;
  const bool whole = columns >= N * kLanes;
  VectorOf<T> best[N];
  hn::Vec<decltype(di)> index[N];
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    best[n] = whole ? hn::LoadU(d, x + n * kLanes) : hn::LoadN(d, x, columns);
    index[n] = hn::Zero(di);
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
      index[n] = hn::IfThenElse(hn::RebindMask(di, better), row, index[n]);
    }
  }
  HWY_ALIGN Index each[N * kLanes];
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    hn::Store(index[n], di, each + n * kLanes);
  }
  std::copy_n(each, std::min(columns, N * kLanes), indices);
}

template <typename T, class Function>
void find_in_columns(const void* from, size_t rows, size_t stride, size_t columns, int64_t* indices) {
  constexpr size_t kLanes = kLanesOf<T>;
  const T* const x = static_cast<const T*>(from);
  size_t c = 0;
  // Lanes hold indices of their own size.
  if constexpr (sizeof(T) >= sizeof(int32_t)) {
    if (rows <= size_t{std::numeric_limits<int32_t>::max()}) {
      for (; c + 4 * kLanes <= columns; c += 4 * kLanes) {
        find_in_strip<T, Function, 4>(x + c, rows, stride, 4 * kLanes, indices + c);
      }
      for (; c < columns; c += kLanes) {
        find_in_strip<T, Function, 1>(x + c, rows, stride, columns - c, indices + c);
      }
    }
  }
  for (; c < columns; ++c) {
    indices[c] = static_cast<int64_t>(find_one<T, Function>(x + c, rows, stride));
  }
}

template <typename T>
Finder finder_of(ArgReduceOp op) {
  return op == ArgReduceOp::Max ? Finder{find_in_row<T, MaxOf<T>>, find_in_columns<T, MaxOf<T>>}
                                : Finder{find_in_row<T, MinOf<T>>, find_in_columns<T, MinOf<T>>};
}

// In plain loops, as not all instruction sets have vectors of it.
struct LargestFloat64 {
  static bool better(double a, double b) {
    return a > b || is_nan(a);
  }
};
struct SmallestFloat64 {
  static bool better(double a, double b) {
    return a < b || is_nan(a);
  }
};

template <class Function>
void find_in_float64_columns(const void* from, size_t rows, size_t stride, size_t columns, int64_t* indices) {
  for (size_t c = 0; c < columns; ++c) {
    indices[c] = static_cast<int64_t>(find_one<double, Function>(static_cast<const double*>(from) + c, rows, stride));
  }
}

template <class Function>
void find_in_float64_row(const void* from, size_t count, int64_t* index) {
  find_in_float64_columns<Function>(from, count, 1, 1, index);
}

template <>
Finder finder_of<double>(ArgReduceOp op) {
  return op == ArgReduceOp::Max
      ? Finder{find_in_float64_row<LargestFloat64>, find_in_float64_columns<LargestFloat64>}
      : Finder{find_in_float64_row<SmallestFloat64>, find_in_float64_columns<SmallestFloat64>};
}

Finder finder(ArgReduceOp op, DType dtype) {
  return with_type(dtype, [op](auto zero) { return finder_of<decltype(zero)>(op); });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(finder);

namespace {

constexpr size_t kColumns = 128; // results computed together

} // namespace

size_t ArgReduce::reshape(const ArgReduceParameters& parameters, size_t /*num_threads*/) {
  dtype_ = parameters.dtype;
  finder_ = ETX_DISPATCH(finder)(parameters.op, dtype_);
  rows_ = AxisRows(parameters.input, parameters.axis);
  return 0;
}

void ArgReduce::run(const KernelArguments& arguments) {
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

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
