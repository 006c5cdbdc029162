// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduce.h"

#include <algorithm>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/move/strided_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/sum_floats.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Columns are reduced this many vectors at a time.
constexpr size_t kStripVectors = 4;

HWY_INLINE Vector load(const float* x, size_t count) {
  return count >= kLanes ? hn::LoadU(kFloats, x) : hn::LoadN(kFloats, x, count);
}

// Sum of `count` neighbours.
double sum_row(const float* x, size_t count) {
  constexpr size_t kBlock = 4096; // what is summed up in float
  double total = 0;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, count);
    Vector s0 = hn::Zero(kFloats), s1 = s0, s2 = s0, s3 = s0;
    size_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      s0 = hn::Add(s0, hn::LoadU(kFloats, x + i));
      s1 = hn::Add(s1, hn::LoadU(kFloats, x + i + kLanes));
      s2 = hn::Add(s2, hn::LoadU(kFloats, x + i + 2 * kLanes));
      s3 = hn::Add(s3, hn::LoadU(kFloats, x + i + 3 * kLanes));
    }
    for (; i < end; i += kLanes) {
      s0 = hn::Add(s0, load(x + i, end - i));
    }
    total += static_cast<double>(hn::ReduceSum(kFloats, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  }
  return total;
}

// Adds up `rows` rows, `stride` floats apart: totals[c] += x[r * stride + c].
void sum_columns(const float* x, size_t rows, size_t stride, size_t columns, double* totals) {
  constexpr size_t kBlock = 128; // rows that are summed up in float
  constexpr size_t kStrip = kStripVectors * kLanes;
  for (size_t begin = 0; begin < rows; begin += kBlock) {
    const float* block = x + begin * stride;
    const size_t block_rows = std::min(kBlock, rows - begin);
    HWY_ALIGN float sums[kStrip];
    size_t c = 0;
    for (; c + kStrip <= columns; c += kStrip) {
      Vector s0 = hn::Zero(kFloats), s1 = s0, s2 = s0, s3 = s0;
      const float* row = block + c;
      for (size_t r = 0; r < block_rows; ++r, row += stride) {
        s0 = hn::Add(s0, hn::LoadU(kFloats, row));
        s1 = hn::Add(s1, hn::LoadU(kFloats, row + kLanes));
        s2 = hn::Add(s2, hn::LoadU(kFloats, row + 2 * kLanes));
        s3 = hn::Add(s3, hn::LoadU(kFloats, row + 3 * kLanes));
      }
      hn::Store(s0, kFloats, sums);
      hn::Store(s1, kFloats, sums + kLanes);
      hn::Store(s2, kFloats, sums + 2 * kLanes);
      hn::Store(s3, kFloats, sums + 3 * kLanes);
      for (size_t i = 0; i < kStrip; ++i) {
        totals[c + i] += static_cast<double>(sums[i]);
      }
    }
    for (; c < columns; c += kLanes) {
      const size_t count = std::min(kLanes, columns - c);
      Vector s = hn::Zero(kFloats);
      const float* row = block + c;
      for (size_t r = 0; r < block_rows; ++r, row += stride) {
        s = hn::Add(s, load(row, count));
      }
      hn::Store(s, kFloats, sums);
      for (size_t i = 0; i < count; ++i) {
        totals[c + i] += static_cast<double>(sums[i]);
      }
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(sum_row);
HWY_EXPORT(sum_columns);

namespace {

constexpr size_t kGrain = 16384; // elements
constexpr size_t kStrip = 128; // columns of one piece of work

} // namespace

size_t SumFloats::reshape(const ReduceParameters& parameters, size_t /*num_threads*/) {
  const Shape& shape = parameters.input;
  const Strides strides = dense_strides(shape);
  kept_.clear();
  reduced_.clear();
  for (size_t axis = 0; axis < shape.rank; ++axis) {
    (parameters.is_reduced[axis] ? reduced_ : kept_).add(shape[axis], strides[axis]);
  }
  factor_ = parameters.op == ReduceOp::Mean ? 1 / static_cast<double>(reduced_.count()) : 1;
  columns_ = 1;
  if (kept_.row_stride() == 1) {
    columns_ = kept_.row_size();
    kept_.drop_row();
  }
  run_size_ = reduced_.row_size();
  run_stride_ = reduced_.row_stride();
  reduced_.drop_row();
  return 0;
}

void SumFloats::run(const KernelArguments& arguments) {
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  const size_t outer = kept_.count(), repeats = reduced_.count();
  const size_t each = repeats * run_size_ + 1;
  if (columns_ == 1) {
    const auto sum = ETX_DISPATCH(sum_row);
    parallel_for(arguments.pool, outer, kGrain / each + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float* from = x + kept_.offset(i);
        double total = 0;
        for (size_t r = 0; r < repeats; ++r) {
          total += sum(from + reduced_.offset(r), run_size_);
        }
        y[i] = static_cast<float>(total * factor_);
      }
    });
    return;
  }
  const auto sum = ETX_DISPATCH(sum_columns);
  const size_t strips = divide_up(columns_, kStrip);
  parallel_for(arguments.pool, outer * strips, kGrain / (each * kStrip) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t column = i % strips * kStrip;
      const size_t columns = std::min(kStrip, columns_ - column);
      const float* from = x + kept_.offset(i / strips) + column;
      double totals[kStrip] = {};
      for (size_t r = 0; r < repeats; ++r) {
        sum(from + reduced_.offset(r), run_size_, run_stride_, columns, totals);
      }
      float* to = y + i / strips * columns_ + column;
      for (size_t c = 0; c < columns; ++c) {
        to[c] = static_cast<float>(totals[c] * factor_);
      }
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
