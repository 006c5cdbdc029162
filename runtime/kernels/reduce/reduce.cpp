// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/ops/op.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/move/strided_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/reduce.cpp"
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
HWY_INLINE void store(Vector v, float* y, size_t count) {
  if (count >= kLanes) {
    hn::StoreU(v, kFloats, y);
  } else {
    hn::StoreN(v, kFloats, y, count);
  }
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

void softmax_rows(const float* x, size_t rows, size_t size, float* y) {
  for (size_t row = 0; row < rows; ++row, x += size, y += size) {
    const size_t whole = size / kLanes * kLanes, rest = size - whole;
    const Vector top = top_of(x, size);

    double total = 0;
    for (size_t begin = 0; begin < whole; begin += kBlock) {
      const size_t end = std::min(begin + kBlock, whole);
      Vector sum0 = hn::Zero(kFloats), sum1 = sum0;
      size_t i = begin;
      for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
        const Vector e0 = exp_nonpositive(hn::Sub(hn::LoadU(kFloats, x + i), top));
        const Vector e1 = exp_nonpositive(hn::Sub(hn::LoadU(kFloats, x + i + kLanes), top));
        hn::StoreU(e0, kFloats, y + i);
        hn::StoreU(e1, kFloats, y + i + kLanes);
        sum0 = hn::Add(sum0, e0);
        sum1 = hn::Add(sum1, e1);
      }
      for (; i < end; i += kLanes) {
        const Vector e = exp_nonpositive(hn::Sub(hn::LoadU(kFloats, x + i), top));
        hn::StoreU(e, kFloats, y + i);
        sum0 = hn::Add(sum0, e);
      }
      total += static_cast<double>(hn::ReduceSum(kFloats, hn::Add(sum0, sum1)));
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

void log_softmax_rows(const float* x, size_t rows, size_t size, float* y) {
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
    sum[n] = hn::Div(hn::Set(kFloats, 1), sum[n]);
  }
  for (size_t k = 0; k < size; ++k) {
    for (size_t n = 0; n < N; ++n) {
      const size_t at = k * stride + n * kLanes;
      store(hn::Mul(load(y + at, columns), sum[n]), y + at, columns);
    }
  }
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

HWY_EXPORT(sum_row);
HWY_EXPORT(sum_columns);
HWY_EXPORT(softmax_rows);
HWY_EXPORT(softmax_columns);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(log_softmax_columns);

namespace {

constexpr size_t kGrain = 16384; // elements
constexpr size_t kStrip = 128; // columns of one piece of work

struct ReduceAxis {
  size_t size, stride; // in floats, of the input
};

// Offset of entry `index` when the last axis goes fastest.
size_t offset_of(const std::vector<ReduceAxis>& axes, size_t index) {
  size_t offset = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    offset += index % axis->size * axis->stride;
    index /= axis->size;
  }
  return offset;
}

size_t count_of(const std::vector<ReduceAxis>& axes) {
  size_t count = 1;
  for (const ReduceAxis& axis : axes) {
    count *= axis.size;
  }
  return count;
}

class Reduce final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Reduce>();
    const Shape& shape = node.input(0).shape;
    const Strides strides = dense_strides(shape);
    kept_.clear();
    reduced_.clear();
    const auto* last = static_cast<const std::vector<ReduceAxis>*>(nullptr);
    for (size_t axis = 0; axis < shape.rank; ++axis) {
      if (shape[axis] == 1) {
        continue;
      }
      const auto* axes = attributes.axes();
      const bool reduces = std::find(axes->begin(), axes->end(), axis) != axes->end();
      std::vector<ReduceAxis>& to = reduces ? reduced_ : kept_;
      if (last == &to) {
        to.back() = {to.back().size * shape[axis], strides[axis]}; // goes on where the one before ended
      } else {
        to.push_back({shape[axis], strides[axis]});
        last = &to;
      }
    }
    columns_ = 1;
    if (last == &kept_) {
      columns_ = kept_.back().size;
      kept_.pop_back();
    }
    run_ = {1, 0};
    if (!reduced_.empty()) {
      run_ = reduced_.back();
      reduced_.pop_back();
    }
    const size_t count = count_of(reduced_) * run_.size;
    factor_ = attributes.kind() == schema::ReduceKind::Mean ? 1 / static_cast<double>(count) : 1;
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* x = arguments.input<float>(0);
    float* y = arguments.output<float>(0);
    const size_t outer = count_of(kept_), repeats = count_of(reduced_);
    const size_t each = repeats * run_.size + 1;
    if (columns_ == 1) {
      parallel_for(arguments.pool, outer, kGrain / each + 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const float* from = x + offset_of(kept_, i);
          double total = 0;
          for (size_t r = 0; r < repeats; ++r) {
            total += sum_row_(from + offset_of(reduced_, r), run_.size);
          }
          y[i] = static_cast<float>(total * factor_);
        }
      });
      return;
    }
    const size_t strips = (columns_ + kStrip - 1) / kStrip;
    parallel_for(arguments.pool, outer * strips, kGrain / (each * kStrip) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t column = i % strips * kStrip;
        const size_t columns = std::min(kStrip, columns_ - column);
        const float* from = x + offset_of(kept_, i / strips) + column;
        double totals[kStrip] = {};
        for (size_t r = 0; r < repeats; ++r) {
          sum_columns_(from + offset_of(reduced_, r), run_.size, run_.stride, columns, totals);
        }
        float* to = y + i / strips * columns_ + column;
        for (size_t c = 0; c < columns; ++c) {
          to[c] = static_cast<float>(totals[c] * factor_);
        }
      }
    });
  }

 private:
  const decltype(ETX_DISPATCH(sum_row)) sum_row_ = ETX_DISPATCH(sum_row);
  const decltype(ETX_DISPATCH(sum_columns)) sum_columns_ = ETX_DISPATCH(sum_columns);
  // Kept and reduced axes take turns once neighbours of one kind are merged. Apart from
  // them: the last reduced one, and behind it, if any, the last kept one.
  std::vector<ReduceAxis> kept_, reduced_;
  ReduceAxis run_{};
  size_t columns_ = 1;
  double factor_ = 1;
};

class Softmax final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Softmax>();
    const size_t axis = attributes.axis();
    rows_ = attributes.log() ? ETX_DISPATCH(log_softmax_rows) : ETX_DISPATCH(softmax_rows);
    columns_ = attributes.log() ? ETX_DISPATCH(log_softmax_columns) : ETX_DISPATCH(softmax_columns);
    const Shape& shape = node.input(0).shape;
    outer_ = shape.numel(0, axis);
    size_ = shape[axis];
    inner_ = shape.numel(axis + 1, shape.rank);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
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
    const size_t strips = (inner_ + kStrip - 1) / kStrip;
    parallel_for(arguments.pool, outer_ * strips, kGrain / (size_ * kStrip) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t column = i % strips * kStrip;
        const size_t offset = i / strips * size_ * inner_ + column;
        columns_(x + offset, size_, inner_, std::min(kStrip, inner_ - column), y + offset);
      }
    });
  }

 private:
  void (*rows_)(const float* x, size_t rows, size_t size, float* y) = nullptr;
  void (*columns_)(const float* x, size_t size, size_t stride, size_t columns, float* y) = nullptr;
  size_t outer_ = 0, size_ = 0, inner_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_reduce(const NodeContext&) {
  return std::make_unique<Reduce>();
}

std::unique_ptr<Kernel> make_softmax(const NodeContext&) {
  return std::make_unique<Softmax>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
