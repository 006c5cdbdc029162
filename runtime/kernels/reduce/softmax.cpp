// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/softmax.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Columns are taken this many vectors at a time.
constexpr size_t kStripVectors = 4;

HWY_INLINE Vector load(const float* x, size_t count) {
  return count >= kLanes ? hn::LoadU(kFloats, x) : hn::LoadN(kFloats, x, count);
}
HWY_INLINE void store(Vector v, float* y, size_t count) {
  if (count >= kLanes) {
    hn::StoreU(v, kFloats, y);
  } else {
    hn::StoreN(v, kFloats, y, count);
  }
}

HWY_INLINE float lowest() {
  return -std::numeric_limits<float>::infinity();
}

constexpr size_t kBlock = 4096; // exponentials of a row that are summed up in float

// The largest of a row, in every lane.
HWY_INLINE Vector top_of(const float* x, size_t size) {
  Vector top0 = hn::Set(kFloats, lowest()), top1 = top0;
  size_t i = 0;
  for (; i + 2 * kLanes <= size; i += 2 * kLanes) {
    top0 = hn::Max(top0, hn::LoadU(kFloats, x + i));
    top1 = hn::Max(top1, hn::LoadU(kFloats, x + i + kLanes));
  }
  if (i + kLanes <= size) {
    top0 = hn::Max(top0, hn::LoadU(kFloats, x + i));
    i += kLanes;
  }
  if (i < size) {
    const Vector last = hn::LoadN(kFloats, x + i, size - i);
    top1 = hn::Max(top1, hn::IfThenElse(hn::FirstN(kFloats, size - i), last, top0));
  }
  return hn::Set(kFloats, hn::ReduceMax(kFloats, hn::Max(top0, top1)));
}

void long_softmax_rows(const float* x, size_t rows, size_t size, float* y) {
  for (size_t row = 0; row < rows; ++row, x += size, y += size) {
    const size_t whole = size / kLanes * kLanes, rest = size - whole;
    const Vector top = top_of(x, size);

    double total = 0;
    for (size_t begin = 0; begin < whole; begin += kBlock) {
      const size_t size_of_block = std::min(kBlock, whole - begin);
      total += static_cast<double>(hn::ReduceSum(kFloats, exponentials(x + begin, size_of_block, top, y + begin)));
    }
    Vector last = hn::Zero(kFloats);
    if (rest > 0) {
      last = exp_nonpositive(hn::Sub(hn::LoadN(kFloats, x + whole, rest), top));
      total += static_cast<double>(hn::ReduceSum(kFloats, hn::IfThenElseZero(hn::FirstN(kFloats, rest), last)));
    }

    const Vector factor = hn::Set(kFloats, static_cast<float>(1 / total));
    for (size_t i = 0; i < whole; i += kLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(kFloats, y + i), factor), kFloats, y + i);
    }
    if (rest > 0) {
      hn::StoreN(hn::Mul(last, factor), kFloats, y + whole, rest);
    }
  }
}

void long_log_softmax_rows(const float* x, size_t rows, size_t size, float* y) {
  for (size_t row = 0; row < rows; ++row, x += size, y += size) {
    const Vector top = top_of(x, size);
    double total = 0;
    for (size_t begin = 0; begin < size; begin += kBlock) {
      const size_t end = std::min(begin + kBlock, size);
      Vector sum0 = hn::Zero(kFloats), sum1 = sum0;
      size_t i = begin;
      for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
        sum0 = hn::Add(sum0, exp_nonpositive(hn::Sub(hn::LoadU(kFloats, x + i), top)));
        sum1 = hn::Add(sum1, exp_nonpositive(hn::Sub(hn::LoadU(kFloats, x + i + kLanes), top)));
      }
      for (; i < end; i += kLanes) {
        const Vector e = exp_nonpositive(hn::Sub(load(x + i, end - i), top));
        sum0 = hn::Add(sum0, end - i >= kLanes ? e : hn::IfThenElseZero(hn::FirstN(kFloats, end - i), e));
      }
      total += static_cast<double>(hn::ReduceSum(kFloats, hn::Add(sum0, sum1)));
    }
    const Vector log = hn::Set(kFloats, static_cast<float>(std::log(total)));
    for (size_t i = 0; i < size; i += kLanes) {
      store(hn::Sub(hn::Sub(load(x + i, size - i), top), log), y + i, size - i);
    }
  }
}

// The largest of each column in N vectors.
template <size_t N>
HWY_INLINE void top_of_strip(const float* x, size_t size, size_t stride, size_t columns, Vector (&top)[N]) {
  for (size_t n = 0; n < N; ++n) {
    top[n] = hn::Set(kFloats, lowest());
  }
  for (size_t k = 0; k < size; ++k) {
    for (size_t n = 0; n < N; ++n) {
      top[n] = hn::Max(top[n], load(x + k * stride + n * kLanes, columns));
    }
  }
}

template <size_t N>
void log_softmax_strip(const float* x, size_t size, size_t stride, size_t columns, float* y) {
  constexpr size_t kRows = 128; // exponentials that are added up before they are added to the others
  Vector top[N], total[N], sum[N];
  top_of_strip(x, size, stride, columns, top);
  for (size_t n = 0; n < N; ++n) {
    total[n] = hn::Zero(kFloats);
  }
  for (size_t begin = 0; begin < size; begin += kRows) {
    for (size_t n = 0; n < N; ++n) {
      sum[n] = hn::Zero(kFloats);
    }
    for (size_t k = begin; k < std::min(begin + kRows, size); ++k) {
      for (size_t n = 0; n < N; ++n) {
        const Vector v = load(x + k * stride + n * kLanes, columns);
        sum[n] = hn::Add(sum[n], exp_nonpositive(hn::Sub(v, top[n])));
      }
    }
    for (size_t n = 0; n < N; ++n) {
      total[n] = hn::Add(total[n], sum[n]);
    }
  }
  HWY_ALIGN float logs[kLanes];
  for (size_t n = 0; n < N; ++n) {
    hn::Store(total[n], kFloats, logs);
    std::transform(logs, logs + kLanes, logs, [](float v) { return std::log(v); });
    total[n] = hn::Load(kFloats, logs);
  }
  for (size_t k = 0; k < size; ++k) {
    for (size_t n = 0; n < N; ++n) {
      const size_t at = k * stride + n * kLanes;
      store(hn::Sub(hn::Sub(load(x + at, columns), top[n]), total[n]), y + at, columns);
    }
  }
}

template <size_t N>
void softmax_strip(const float* x, size_t size, size_t stride, size_t columns, float* y) {
  Vector top[N], sum[N];
  top_of_strip(x, size, stride, columns, top);
  for (size_t n = 0; n < N; ++n) {
    sum[n] = hn::Zero(kFloats);
  }
  for (size_t k = 0; k < size; ++k) {
    for (size_t n = 0; n < N; ++n) {
      const size_t at = k * stride + n * kLanes;
      const Vector e = exp_nonpositive(hn::Sub(load(x + at, columns), top[n]));
      store(e, y + at, columns);
      sum[n] = hn::Add(sum[n], e);
    }
  }
  for (size_t n = 0; n < N; ++n) {
    sum[n] = divide(hn::Set(kFloats, 1), sum[n]);
  }
  for (size_t k = 0; k < size; ++k) {
    for (size_t n = 0; n < N; ++n) {
      const size_t at = k * stride + n * kLanes;
      store(hn::Mul(load(y + at, columns), sum[n]), y + at, columns);
    }
  }
}

// Rows of no more than this are taken kLanes at a time.
constexpr size_t kShortRow = 2 * kLanes;

size_t longest_short_row() {
  return kShortRow;
}

// Rows of up to kShortRow as columns: kLanes of them are transposed before, and back after it. `strip` may write where
// it reads.
template <typename Strip>
HWY_INLINE void transposed_rows(const float* x, size_t rows, size_t size, float* y, const Strip& strip) {
  HWY_ALIGN float columns[kShortRow * kLanes];
  for (size_t row = 0; row < rows; row += kLanes) {
    const size_t count = std::min(kLanes, rows - row);
    for (size_t c = 0; c < size; c += kLanes) {
      Vector v[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        v[i] = i < count ? load(x + (row + i) * size + c, size - c) : hn::Zero(kFloats);
      }
      transpose_square(v);
      for (size_t i = 0; i < kLanes; ++i) {
        hn::Store(v[i], kFloats, columns + (c + i) * kLanes);
      }
    }
    strip(columns, size, kLanes, kLanes, columns);
    for (size_t c = 0; c < size; c += kLanes) {
      Vector v[kLanes];
      for (size_t i = 0; i < kLanes; ++i) {
        v[i] = hn::Load(kFloats, columns + (c + i) * kLanes);
      }
      transpose_square(v);
      for (size_t i = 0; i < count; ++i) {
        store(v[i], y + (row + i) * size + c, size - c);
      }
    }
  }
}

void softmax_rows(const float* x, size_t rows, size_t size, float* y) {
  size <= kShortRow ? transposed_rows(x, rows, size, y, softmax_strip<1>) : long_softmax_rows(x, rows, size, y);
}

void log_softmax_rows(const float* x, size_t rows, size_t size, float* y) {
  size <= kShortRow ? transposed_rows(x, rows, size, y, log_softmax_strip<1>) : long_log_softmax_rows(x, rows, size, y);
}

// Softmax over `size` rows that lie `stride` floats apart, for each of the columns.
void softmax_columns(const float* x, size_t size, size_t stride, size_t columns, float* y) {
  size_t c = 0;
  for (; c + kStripVectors * kLanes <= columns; c += kStripVectors * kLanes) {
    softmax_strip<kStripVectors>(x + c, size, stride, columns - c, y + c);
  }
  for (; c < columns; c += kLanes) {
    softmax_strip<1>(x + c, size, stride, columns - c, y + c);
  }
}

void log_softmax_columns(const float* x, size_t size, size_t stride, size_t columns, float* y) {
  size_t c = 0;
  for (; c + kStripVectors * kLanes <= columns; c += kStripVectors * kLanes) {
    log_softmax_strip<kStripVectors>(x + c, size, stride, columns - c, y + c);
  }
  for (; c < columns; c += kLanes) {
    log_softmax_strip<1>(x + c, size, stride, columns - c, y + c);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(longest_short_row);
HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_columns);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(log_softmax_columns);

namespace {

constexpr size_t kGrain = 16384; // elements
constexpr size_t kStrip = 128; // columns of one piece of work

} // namespace

size_t Softmax::longest_short_row() {
  return ETX_DISPATCH(longest_short_row)();
}

size_t Softmax::reshape(const SoftmaxParameters& parameters, size_t /*num_threads*/) {
  rows_ = parameters.log ? ETX_DISPATCH(log_softmax_rows) : ETX_DISPATCH(softmax_rows);
  columns_ = parameters.log ? ETX_DISPATCH(log_softmax_columns) : ETX_DISPATCH(softmax_columns);
  const Shape& shape = parameters.shape;
  outer_ = shape.numel(0, parameters.axis);
  size_ = shape[parameters.axis];
  inner_ = shape.numel(parameters.axis + 1, shape.rank);
  return 0;
}

void Softmax::run(const KernelArguments& arguments) {
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  if (outer_ * size_ * inner_ == 0) {
    return;
  }
  if (inner_ == 1) {
    parallel_for(arguments.pool, outer_, kGrain / size_ + 1, [&](size_t begin, size_t end) {
      rows_(x + begin * size_, end - begin, size_, y + begin * size_);
    });
    return;
  }
  const size_t strips = divide_up(inner_, kStrip);
  parallel_for(arguments.pool, outer_ * strips, kGrain / (size_ * kStrip) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t column = i % strips * kStrip;
      const size_t offset = i / strips * size_ * inner_ + column;
      columns_(x + offset, size_, inner_, std::min(kStrip, inner_ - column), y + offset);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
