// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pool.h"

#include <algorithm>
#include <limits>

#include "runtime/base/memory.h"
#include "runtime/ops/op.h"
#include "runtime/kernels/simd/isa.h"
#include "pool_row.h"

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
    const Vector y = kMaximum ? result[n] : hn::Div(result[n], divisor);
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

class Pool final : public Kernel {
 public:
  using Windows = void (*)(const NodeContext& node, size_t axis, Array<PoolWindow>& windows);

  Pool(Windows windows, bool maximum)
      : windows_(windows), function_(maximum ? ETX_DISPATCH(maximum_row) : ETX_DISPATCH(average_row)) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    input_ = node.input(0).shape;
    ETX_RETURN_IF_ERROR(rows_.assign(node.output().shape[1]));
    ETX_RETURN_IF_ERROR(columns_.assign(node.output().shape[2]));
    windows_(node, 0, rows_);
    windows_(node, 1, columns_);
    divisor_ = node.node().attributes_type() == schema::Attributes::AvgPool2d
        ? node.attributes<schema::AvgPool2d>().divisor_override()
        : 0;
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* x = arguments.input<float>(0);
    float* y = arguments.output<float>(0);
    const size_t channels = input_[3];
    if (columns_.empty() || channels == 0) {
      return;
    }
    // About as many elements as all windows of one row read.
    const size_t reads = (input_.numel() / std::max<size_t>(input_[0] * rows_.size(), 1)) + columns_.size() * channels;
    parallel_for(arguments.pool, input_[0] * rows_.size(), kGrain / reads + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        PoolRow row{};
        row.image = x + i / rows_.size() * input_.numel(1, 4);
        row.width = input_[2];
        row.channels = channels;
        row.row = rows_[i % rows_.size()];
        row.columns = columns_.data();
        row.num_columns = columns_.size();
        row.divisor = divisor_;
        row.output = y + i * columns_.size() * channels;
        function_(row);
      }
    });
  }

 private:
  static constexpr size_t kGrain = 16384; // elements

  const Windows windows_;
  const decltype(ETX_DISPATCH(average_row)) function_;
  Shape input_;
  Array<PoolWindow> rows_, columns_;
  size_t divisor_ = 0;
};

// One axis of a schema::Size2D or the two sides of a schema::Padding2D.
size_t along(const schema::Size2D& size, size_t axis) {
  return axis == 0 ? size.height() : size.width();
}
size_t before(const schema::Padding2D& padding, size_t axis) {
  return axis == 0 ? padding.top() : padding.left();
}
size_t after(const schema::Padding2D& padding, size_t axis) {
  return axis == 0 ? padding.bottom() : padding.right();
}

void average_windows(const NodeContext& node, size_t axis, Array<PoolWindow>& windows) {
  const auto& attributes = node.attributes<schema::AvgPool2d>();
  const auto size = static_cast<int64_t>(node.input(0).shape[1 + axis]);
  const auto kernel = static_cast<int64_t>(along(*attributes.kernel(), axis));
  const auto stride = static_cast<int64_t>(along(*attributes.stride(), axis));
  const auto padding = static_cast<int64_t>(before(*attributes.padding(), axis));
  const schema::Padding2D none;
  const schema::Padding2D& counted = attributes.padding_counted() ? *attributes.padding_counted() : none;
  const auto low = -static_cast<int64_t>(before(counted, axis));
  const auto high = size + static_cast<int64_t>(after(counted, axis));
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * stride - padding;
    const int64_t end = begin + kernel;
    windows[i].begin = static_cast<size_t>(std::max<int64_t>(begin, 0));
    windows[i].end = static_cast<size_t>(std::clamp<int64_t>(end, 0, size));
    windows[i].step = 1;
    windows[i].counted = static_cast<size_t>(std::max<int64_t>(std::min(end, high) - std::max(begin, low), 0));
  }
}

void max_windows(const NodeContext& node, size_t axis, Array<PoolWindow>& windows) {
  const auto& attributes = node.attributes<schema::MaxPool2d>();
  const auto size = static_cast<int64_t>(node.input(0).shape[1 + axis]);
  const auto kernel = static_cast<int64_t>(along(*attributes.kernel(), axis));
  const auto stride = static_cast<int64_t>(along(*attributes.stride(), axis));
  const auto dilation = static_cast<int64_t>(along(*attributes.dilation(), axis));
  const auto padding = static_cast<int64_t>(before(*attributes.padding(), axis));
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t origin = static_cast<int64_t>(i) * stride - padding;
    const int64_t begin = origin >= 0 ? origin : origin + (-origin + dilation - 1) / dilation * dilation;
    const int64_t end = origin + (kernel - 1) * dilation + 1;
    windows[i].begin = static_cast<size_t>(begin);
    windows[i].end = static_cast<size_t>(std::clamp<int64_t>(end, 0, size));
    windows[i].step = static_cast<size_t>(dilation);
    windows[i].counted = 0;
  }
}

void adaptive_windows(const NodeContext& node, size_t axis, Array<PoolWindow>& windows) {
  const size_t size = node.input(0).shape[1 + axis];
  for (size_t i = 0; i < windows.size(); ++i) {
    const size_t begin = i * size / windows.size();
    const size_t end = ((i + 1) * size + windows.size() - 1) / windows.size();
    windows[i] = {begin, end, 1, end - begin};
  }
}

} // namespace

std::unique_ptr<Kernel> make_avg_pool2d(const NodeContext&) {
  return std::make_unique<Pool>(average_windows, false);
}

std::unique_ptr<Kernel> make_max_pool2d(const NodeContext&) {
  return std::make_unique<Pool>(max_windows, true);
}

std::unique_ptr<Kernel> make_adaptive_pool2d(const NodeContext& node) {
  const bool maximum = node.attributes<schema::AdaptivePool2d>().kind() == schema::AdaptivePoolKind::Max;
  return std::make_unique<Pool>(adaptive_windows, maximum);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
