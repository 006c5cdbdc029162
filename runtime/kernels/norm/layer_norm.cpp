// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "layer_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/op.h"
#include "runtime/kernels/simd/isa.h"
#include "layer_norm_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/norm/layer_norm.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "norm-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

void normalize_row(
    const float* x,
    size_t count,
    float mean,
    float scale,
    float shift,
    const float* weight,
    const float* bias,
    float* y) {
  if (weight != nullptr && bias != nullptr) {
    normalize<true, true>(x, count, mean, scale, shift, weight, bias, y);
  } else if (weight != nullptr) {
    normalize<true, false>(x, count, mean, scale, shift, weight, bias, y);
  } else if (bias != nullptr) {
    normalize<false, true>(x, count, mean, scale, shift, weight, bias, y);
  } else {
    normalize<false, false>(x, count, mean, scale, shift, weight, bias, y);
  }
}

void layer_norm_rows(const LayerNormRows& r) {
  const double per_element = 1 / static_cast<double>(r.length);
  for (size_t row = 0; row < r.rows; ++row) {
    const size_t length = r.length;
    const float* x = r.x + row * length;
    float* y = r.y + row * length;
    double total = 0;
    for (size_t i = 0; i < length; i += kBlock) {
      total += sum(x + i, std::min(kBlock, length - i));
    }
    const float mean = static_cast<float>(total * per_element);
    double deviation = 0, squares = 0;
    for (size_t i = 0; i < length; i += kBlock) {
      float first, second;
      deviations(x + i, std::min(kBlock, length - i), mean, &first, &second);
      deviation += first;
      squares += second;
    }
    // What rounding the mean to float has left.
    const double rest = deviation * per_element;
    const double variance = std::max(squares * per_element - rest * rest, 0.0);
    const double scale = 1 / std::sqrt(variance + static_cast<double>(r.epsilon));
    const float s = static_cast<float>(scale), t = static_cast<float>(-rest * scale);
    normalize_row(x, length, mean, s, t, r.weight, r.bias, y);
    if (r.mean != nullptr) {
      r.mean[row] = static_cast<float>(static_cast<double>(mean) + rest);
      r.rstd[row] = s;
    }
  }
}

void rms_norm_rows(const LayerNormRows& r) {
  const double per_element = 1 / static_cast<double>(r.length);
  for (size_t row = 0; row < r.rows; ++row) {
    const float* x = r.x + row * r.length;
    double squares = 0;
    for (size_t i = 0; i < r.length; i += kBlock) {
      float first, second;
      deviations(x + i, std::min(kBlock, r.length - i), 0, &first, &second);
      squares += second;
    }
    const double scale = 1 / std::sqrt(squares * per_element + static_cast<double>(r.epsilon));
    normalize_row(x, r.length, 0, static_cast<float>(scale), 0, r.weight, nullptr, r.y + row * r.length);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(rms_norm_rows);

namespace {

constexpr size_t kGrain = 16384; // elements

// Over the last axes; also RmsNorm.
class LayerNorm final : public Kernel {
 public:
  using Function = decltype(ETX_DISPATCH(layer_norm_rows));

  LayerNorm(Function function, size_t axes, float epsilon) : function_(function), axes_(axes), epsilon_(epsilon) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const Shape& shape = node.input(0).shape;
    const size_t split = shape.rank - axes_;
    rows_ = shape.numel(0, split);
    length_ = shape.numel(split, shape.rank);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    LayerNormRows all;
    all.x = arguments.input<float>(0);
    all.length = length_;
    all.weight = arguments.input<float>(1);
    all.bias = arguments.input<float>(2);
    all.epsilon = epsilon_;
    all.y = arguments.output<float>(0);
    if (arguments.outputs.size() == 3) {
      all.mean = arguments.output<float>(1);
      all.rstd = arguments.output<float>(2);
    }
    if (length_ == 0) {
      if (all.mean != nullptr) {
        std::fill_n(all.mean, rows_, 0.0f);
        std::fill_n(all.rstd, rows_, std::numeric_limits<float>::quiet_NaN());
      }
      return;
    }
    parallel_for(arguments.pool, rows_, kGrain / length_ + 1, [&](size_t begin, size_t end) {
      LayerNormRows part = all;
      part.x += begin * length_;
      part.y += begin * length_;
      part.rows = end - begin;
      if (part.mean != nullptr) {
        part.mean += begin;
        part.rstd += begin;
      }
      function_(part);
    });
  }

 private:
  const Function function_;
  const size_t axes_;
  const float epsilon_;
  size_t rows_ = 0;
  size_t length_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_layer_norm(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::LayerNorm>();
  return std::make_unique<LayerNorm>(ETX_DISPATCH(layer_norm_rows), attributes.axes(), attributes.epsilon());
}

std::unique_ptr<Kernel> make_rms_norm(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::RmsNorm>();
  return std::make_unique<LayerNorm>(ETX_DISPATCH(rms_norm_rows), attributes.axes(), attributes.epsilon());
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
