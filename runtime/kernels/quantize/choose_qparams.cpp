// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "choose_qparams.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 65536; // elements

} // namespace

QParams choose_qparams(const QParamsRange& range, const float* x, size_t count) {
  float low = 0, high = 0;
  bool is_nan = false;
  for (size_t i = 0; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    is_nan |= std::isnan(x[i]);
  }
  if (is_nan) {
    low = high = std::numeric_limits<float>::quiet_NaN(); // and so is the scale
  }
  if (range.rule == QParamsRule::Symmetric) {
    const float scale = std::max(std::max(-low, high) / ((range.max - range.min) / 2), range.epsilon);
    return {scale, std::floor((range.max + range.min + 1) / 2)};
  }
  const float scale = std::max((high - low) / (range.max - range.min), range.epsilon);
  const float first = low / scale, last = high / scale;
  float zero_point = range.min - std::nearbyint(first);
  if (range.rule == QParamsRule::Nearest) {
    zero_point = std::nearbyint((range.min + first) + (range.max + last) > 0 ? range.min - first : range.max - last);
  }
  return {scale, std::min(std::max(zero_point, range.min), range.max)};
}

void fake_quantize_to_int8(const float* x, float* y, size_t count) {
  const QParams p = choose_qparams({-128, 127, QParamsRule::Nearest, std::numeric_limits<float>::min()}, x, count);
  const float inverse = 1 / p.scale;
  for (size_t i = 0; i < count; ++i) {
    const float q = std::nearbyint(x[i] * inverse) + p.zero_point;
    y[i] = (std::min(std::max(q, -128.0f), 127.0f) - p.zero_point) * p.scale;
  }
}

size_t ChooseQParams::reshape(const ChooseQParamsParameters& parameters, size_t /*num_threads*/) {
  parameters_ = parameters;
  return 0;
}

void ChooseQParams::run(const KernelArguments& arguments) {
  const QParamsRange& range = parameters_.range;
  const size_t size = parameters_.size;
  const float* const x = arguments.input<float>(0);
  float* const scale = arguments.output<float>(0);
  int32_t* const zero_point = arguments.output<int32_t>(1);
  parallel_for(arguments.pool, parameters_.rows, kGrain / (size + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const QParams p = choose_qparams(range, x + row * size, size);
      scale[row] = p.scale;
      zero_point[row] = p.zero_point >= range.min && p.zero_point <= range.max ? static_cast<int32_t>(p.zero_point) : 0;
    }
  });
}

} // namespace executorch::backends::et_xnnpack
