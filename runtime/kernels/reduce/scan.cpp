// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "scan.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/common/with_type.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Integers wrap instead of overflowing.
template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
struct SumOf {
  static constexpr T kFirst = 0;
  static T join(T a, T b) {
    return sum(a, b);
  }
};
template <typename T>
struct ProdOf {
  static constexpr T kFirst = 1;
  static T join(T a, T b) {
    return product(a, b);
  }
};

// R rows, `next` apart, of elements `stride` apart.
template <typename Function, size_t R, typename T, typename Next>
void scan_together(const T* __restrict__ x, size_t size, size_t stride, Next next, T* __restrict__ y) {
  std::decay_t<decltype(Function::kFirst)> totals[R];
  std::fill_n(totals, R, Function::kFirst);
  for (size_t i = 0; i < size; ++i, x += stride, y += stride) {
    for (size_t r = 0; r < R; ++r) {
      totals[r] = Function::join(totals[r], x[r * next]);
      y[r * next] = static_cast<T>(totals[r]);
    }
  }
}

} // namespace

size_t Scan::reshape(const ScanParameters& parameters, size_t /*num_threads*/) {
  op_ = parameters.op;
  dtype_ = parameters.dtype;
  rows_ = AxisRows(parameters.shape, parameters.axis);
  return 0;
}

void Scan::run(const KernelArguments& arguments) {
  with_type(dtype_, [&](auto zero) {
    using T = decltype(zero);
    // Eager PyTorch adds up floats in double precision.
    using Total = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    return op_ == ScanOp::Sum ? scan<T, SumOf<Total>>(arguments) : scan<T, ProdOf<Total>>(arguments);
  });
}

template <typename T, typename Function>
void Scan::scan(const KernelArguments& arguments) const {
  const T* const x = arguments.input<T>(0);
  T* const y = arguments.output<T>(0);
  // Rows at once: the next element of one need not wait for the last of another.
  constexpr size_t kRows = 4, kColumns = 16;
  const bool dense = rows_.inner == 1;
  parallel_for(arguments.pool, rows_.count(), rows_.grain(), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end;) {
      const size_t offset = rows_.offset(row);
      const size_t left = std::min(end - row, dense ? end : rows_.inner - row % rows_.inner);
      if (dense && left >= kRows) {
        scan_together<Function, kRows>(x + offset, rows_.size, size_t{1}, rows_.size, y + offset);
        row += kRows;
      } else if (!dense && left >= kColumns) {
        const std::integral_constant<size_t, 1> next;
        scan_together<Function, kColumns>(x + offset, rows_.size, rows_.inner, next, y + offset);
        row += kColumns;
      } else {
        scan_together<Function, 1>(x + offset, rows_.size, rows_.inner, size_t{0}, y + offset);
        ++row;
      }
    }
  });
}

} // namespace executorch::backends::et_xnnpack
