// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "layer_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "layer_norm_rows.h"
#include "runtime/kernels/simd/isa.h"

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
  for (size_t row = 0; row < r.rows; ++row) {
    const float* x = r.x + row * r.length;
    const Moments moments = moments_of(x, 1, r.length, 0);
    const double scale = 1 / std::sqrt(moments.variance + static_cast<double>(r.epsilon));
    const float s = static_cast<float>(scale), t = static_cast<float>(-moments.rest * scale);
    normalize_row(x, r.length, moments.mean, s, t, r.weight, r.bias, r.y + row * r.length);
    if (r.mean != nullptr) {
      r.mean[row] = static_cast<float>(static_cast<double>(moments.mean) + moments.rest);
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

// Calls `function` for parts of the rows.
template <typename Function>
void run_rows(const RowNormParameters& p, const KernelArguments& arguments, const Function& function) {
  LayerNormRows all;
  all.x = arguments.input<float>(0);
  all.length = p.length;
  all.weight = arguments.input<float>(1);
  all.bias = arguments.input<float>(2);
  all.epsilon = p.epsilon;
  all.y = arguments.output<float>(0);
  if (arguments.outputs.size() == 3) {
    all.mean = arguments.output<float>(1);
    all.rstd = arguments.output<float>(2);
  }
  if (p.length == 0) {
    if (all.mean != nullptr) {
      std::fill_n(all.mean, p.rows, 0.0f);
      std::fill_n(all.rstd, p.rows, std::numeric_limits<float>::quiet_NaN());
    }
    return;
  }
  parallel_for(arguments.pool, p.rows, kGrain / p.length + 1, [&](size_t begin, size_t end) {
    LayerNormRows part = all;
    part.x += begin * p.length;
    part.y += begin * p.length;
    part.rows = end - begin;
    if (part.mean != nullptr) {
      part.mean += begin;
      part.rstd += begin;
    }
    function(part);
  });
}

} // namespace

size_t LayerNorm::reshape(const RowNormParameters& parameters, size_t) {
  parameters_ = parameters;
  return 0;
}

void LayerNorm::run(const KernelArguments& arguments) const {
  run_rows(parameters_, arguments, ETX_DISPATCH(layer_norm_rows));
}

size_t RmsNorm::reshape(const RowNormParameters& parameters, size_t) {
  parameters_ = parameters;
  return 0;
}

void RmsNorm::run(const KernelArguments& arguments) const {
  run_rows(parameters_, arguments, ETX_DISPATCH(rms_norm_rows));
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
