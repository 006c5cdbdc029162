// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pool.h"

#include <algorithm>
#include <limits>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pool/pool.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// N vectors of channels from `channel` on; a partial vector holds the last ones.
template <bool kMaximum, size_t N, bool kPartial>
HWY_INLINE void pool_channels(const PoolRow& p, const PoolWindow& column, size_t channel, float* output) {
  const size_t rest = p.channels - channel;
  const auto load = [&](const float* x) HWY_ATTR {
    if constexpr (kPartial) {
      return hn::LoadN(kFloats, x, rest);
    }
    return hn::LoadU(kFloats, x);
  };
  const float start = kMaximum ? -std::numeric_limits<float>::infinity() : 0.0f;
  Vector result[N];
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    result[n] = hn::Set(kFloats, start);
  }
  for (size_t h = p.row.begin; h < p.row.end; h += p.row.step) {
    // Averages add up each row by itself: long sums lose less that way.
    Vector sum[N];
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      sum[n] = hn::Zero(kFloats);
    }
    for (size_t w = column.begin; w < column.end; w += column.step) {
      const float* x = p.image + (h * p.width + w) * p.channels + channel;
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        const Vector v = load(x + n * kLanes);
        if (kMaximum) {
          result[n] = maximum(result[n], v);
        } else {
          sum[n] = hn::Add(sum[n], v);
        }
      }
    }
    if (!kMaximum) {
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        result[n] = hn::Add(result[n], sum[n]);
      }
    }
  }
  const size_t counted = p.divisor > 0 ? p.divisor : p.row.counted * column.counted;
  const Vector divisor = hn::Set(kFloats, static_cast<float>(counted));
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    const Vector y = kMaximum ? result[n] : divide(result[n], divisor);
    if (kPartial) {
      hn::StoreN(y, kFloats, output + channel, rest);
    } else {
      hn::StoreU(y, kFloats, output + channel + n * kLanes);
    }
  }
}

template <bool kMaximum>
void pool_row(const PoolRow& p) {
  constexpr size_t kVectors = 4;
  float* output = p.output;
  for (size_t i = 0; i < p.num_columns; ++i, output += p.channels) {
    size_t channel = 0;
    for (; channel + kVectors * kLanes <= p.channels; channel += kVectors * kLanes) {
      pool_channels<kMaximum, kVectors, false>(p, p.columns[i], channel, output);
    }
    for (; channel + kLanes <= p.channels; channel += kLanes) {
      pool_channels<kMaximum, 1, false>(p, p.columns[i], channel, output);
    }
    if (channel < p.channels) {
      pool_channels<kMaximum, 1, true>(p, p.columns[i], channel, output);
    }
  }
}

void average_row(const PoolRow& p) {
  pool_row<false>(p);
}
void maximum_row(const PoolRow& p) {
  pool_row<true>(p);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(average_row);
HWY_EXPORT(maximum_row);

namespace {

constexpr size_t kGrain = 16384; // elements

} // namespace

StatusOr<size_t> Pool::reshape(const PoolParameters& parameters, size_t /*num_threads*/) {
  parameters_ = parameters;
  function_ = parameters.op == PoolOp::Max ? ETX_DISPATCH(maximum_row) : ETX_DISPATCH(average_row);
  ETX_RETURN_IF_ERROR(assign_windows(parameters.height, rows_));
  ETX_RETURN_IF_ERROR(assign_windows(parameters.width, columns_));
  return size_t{0};
}

void Pool::run(const KernelArguments& arguments) {
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  const size_t channels = parameters_.channels, rows = parameters_.images * rows_.size();
  if (columns_.empty() || channels == 0) {
    return;
  }
  const size_t image = parameters_.height.input * parameters_.width.input * channels; // elements
  // About as many elements as all windows of one row read.
  const size_t reads = image / std::max<size_t>(rows_.size(), 1) + columns_.size() * channels;
  parallel_for(arguments.pool, rows, kGrain / reads + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      PoolRow row{};
      row.image = x + i / rows_.size() * image;
      row.width = parameters_.width.input;
      row.channels = channels;
      row.row = rows_[i % rows_.size()];
      row.columns = columns_.data();
      row.num_columns = columns_.size();
      row.divisor = parameters_.divisor;
      row.output = y + i * columns_.size() * channels;
      function_(row);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
