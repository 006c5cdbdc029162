// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduce.h"

#include <algorithm>

#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/move/strided_copy.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/reduce.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

template <typename T, class Function>
void start(void* totals, size_t count) {
  std::fill_n(static_cast<T*>(totals), count, Function::kFirst);
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
Reducer reducer_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Max:
      return reducer_with<T, MaxOf<T>>();
    case ReduceOp::Min:
      return reducer_with<T, MinOf<T>>();
    case ReduceOp::Prod:
      return reducer_with<T, ProdOf<T>>();
    default:
      return reducer_with<T, SumOf<T>>();
  }
}

// Float64 in plain loops, of which the compiler makes vectors: not all instruction sets have Highway's.
struct Float64Sum {
  static constexpr double kFirst = 0;
  static double join(double a, double b) {
    return a + b;
  }
};
struct Float64Prod {
  static constexpr double kFirst = 1;
  static double join(double a, double b) {
    return a * b;
  }
};
struct Float64Max {
  static constexpr double kFirst = -std::numeric_limits<double>::infinity();
  static double join(double a, double b) {
    return a > b || is_nan(a) ? a : b;
  }
};
struct Float64Min {
  static constexpr double kFirst = std::numeric_limits<double>::infinity();
  static double join(double a, double b) {
    return a < b || is_nan(a) ? a : b;
  }
};

template <class Function>
void start_float64(void* totals, size_t count) {
  std::fill_n(static_cast<double*>(totals), count, Function::kFirst);
}

template <class Function>
void reduce_float64_row(const void* from, size_t count, void* total) {
  constexpr size_t kParts = 16, kBlock = 4096; // a long sum is one of blocks, which loses less
  const double* const x = static_cast<const double*>(from);
  double& to = *static_cast<double*>(total);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, count);
    double parts[kParts];
    std::fill_n(parts, kParts, Function::kFirst);
    size_t i = begin;
    for (; i + kParts <= end; i += kParts) {
      for (size_t p = 0; p < kParts; ++p) {
        parts[p] = Function::join(parts[p], x[i + p]);
      }
    }
    for (size_t p = 0; i < end; ++i, ++p) {
      parts[p] = Function::join(parts[p], x[i]);
    }
    for (size_t half = kParts / 2; half > 0; half /= 2) {
      for (size_t p = 0; p < half; ++p) {
        parts[p] = Function::join(parts[p], parts[p + half]);
      }
    }
    to = Function::join(to, parts[0]);
  }
}

template <class Function>
void reduce_float64_columns(const void* from, size_t rows, size_t stride, size_t columns, void* totals) {
  const double* x = static_cast<const double*>(from);
  double* const to = static_cast<double*>(totals);
  for (size_t r = 0; r < rows; ++r, x += stride) {
    for (size_t c = 0; c < columns; ++c) {
      to[c] = Function::join(to[c], x[c]);
    }
  }
}

template <class Function>
Reducer float64_reducer_with() {
  return {start_float64<Function>, reduce_float64_row<Function>, reduce_float64_columns<Function>};
}

template <>
Reducer reducer_of<double>(ReduceOp op) {
  switch (op) {
    case ReduceOp::Max:
      return float64_reducer_with<Float64Max>();
    case ReduceOp::Min:
      return float64_reducer_with<Float64Min>();
    case ReduceOp::Prod:
      return float64_reducer_with<Float64Prod>();
    default:
      return float64_reducer_with<Float64Sum>();
  }
}

Reducer reducer(ReduceOp op, DType dtype) {
  if (dtype == DType::Bool) { // any byte but 0 is true, in totals as well
    return op == ReduceOp::Any ? reducer_with<uint8_t, MaxOf<uint8_t>>() : reducer_with<uint8_t, MinOf<uint8_t>>();
  }
  return with_type(dtype, [op](auto zero) { return reducer_of<decltype(zero)>(op); });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(reducer);

namespace {

constexpr size_t kGrain = 16384; // elements
constexpr size_t kColumns = 128; // results computed together

} // namespace

size_t Reduce::reshape(const ReduceParameters& parameters, size_t /*num_threads*/) {
  dtype_ = parameters.dtype;
  reducer_ = ETX_DISPATCH(reducer)(parameters.op, dtype_);
  is_mean_ = parameters.op == ReduceOp::Mean;
  const Shape& x = parameters.input;
  const Strides strides = dense_strides(x);
  kept_.clear();
  reduced_.clear();
  for (size_t axis = 0; axis < x.rank; ++axis) {
    (parameters.is_reduced[axis] ? reduced_ : kept_).add(x[axis], strides[axis]);
  }
  return 0;
}

void Reduce::run(const KernelArguments& arguments) {
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
          } else if (is_mean_) {
            for (size_t c = 0; c < columns; ++c) {
              reinterpret_cast<double*>(totals)[c] /= static_cast<double>(count);
            }
          }
          i += columns;
        }
      });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
