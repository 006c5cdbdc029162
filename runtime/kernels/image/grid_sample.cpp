// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "cubic.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 16384; // elements

// Positions along one axis of the image.
struct Axis {
  size_t size;
  GridPadding padding;
  bool align_corners;

  float middle(float x) const {
    const float n = static_cast<float>(size);
    return align_corners ? (x + 1) * ((n - 1) / 2) : (x + 1) * (n / 2) - 0.5f;
  }

  // What a position beyond the edge stands for, as long as it is finite.
  float inside(float x) const {
    const float last = static_cast<float>(size - 1);
    switch (padding) {
      case GridPadding::Zeros:
        return x;
      case GridPadding::Reflection:
        x = reflected(x);
        break;
      case GridPadding::Border:
        break;
    }
    return std::min(last, std::max(0.0f, x)); // NaN gives 0
  }

  // -1 if the element lies outside and counts as zero.
  int64_t element(float x) const {
    return at(inside(x));
  }

  // The same of a position that inside() has made.
  int64_t at(float x) const {
    if (!(x >= 0 && x <= static_cast<float>(size - 1))) { // NaN, too
      return -1;
    }
    return std::min(static_cast<int64_t>(x), static_cast<int64_t>(size - 1)); // a float may be beyond the last element
  }

 private:
  float reflected(float x) const {
    const float low = align_corners ? 0 : -0.5f;
    const float twice_span = 2 * static_cast<float>(align_corners ? size - 1 : size);
    if (twice_span == 0) {
      return 0;
    }
    const float distance = std::fabs(x - low);
    const float extra = distance - std::trunc(distance / twice_span) * twice_span;
    return std::min(extra, twice_span - extra) + low;
  }
};

// What one output position reads along one axis; positions of -1 count as zero.
struct Taps {
  std::array<int64_t, 4> at{};
  std::array<float, 4> weight{};
};

Taps find_taps(const Axis& axis, SampleMethod method, float position) {
  Taps taps;
  const float middle = axis.middle(position);
  if (method == SampleMethod::Bicubic) {
    const float floored = std::floor(middle);
    const float t = middle - floored;
    for (int i = 0; i < 4; ++i) {
      taps.at[static_cast<size_t>(i)] = axis.element(floored + static_cast<float>(i - 1));
    }
    taps.weight = {cubic(t + 1), cubic(t), cubic(1 - t), cubic(2 - t)};
    return taps;
  }
  const float x = axis.inside(middle);
  if (method == SampleMethod::Nearest) {
    taps.at[0] = axis.at(std::nearbyint(x));
    taps.weight[0] = 1;
    return taps;
  }
  const float floored = std::floor(x);
  taps.at = {axis.at(floored), axis.at(floored + 1), 0, 0};
  taps.weight = {floored + 1 - x, x - floored, 0, 0};
  return taps;
}

} // namespace

size_t GridSample::reshape(const GridSampleParameters& parameters, size_t) {
  parameters_ = parameters;
  return 0;
}

void GridSample::run(const KernelArguments& arguments) const {
  const Shape &x = parameters_.x, &y = parameters_.y;
  const float* const grid = arguments.input<float>(1);
  const size_t channels = x[3], pixels = y[1] * y[2];
  parallel_for(arguments.pool, y[0] * pixels, kGrain / (channels + 16) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const float* const image = arguments.input<float>(0) + i / pixels * x.numel(1, 4);
      sample(image, grid[2 * i], grid[2 * i + 1], arguments.output<float>(0) + i * channels);
    }
  });
}

// What the image has at the position (x, y), for all channels.
void GridSample::sample(const float* image, float x, float y, float* out) const {
  const GridSampleParameters& p = parameters_;
  const size_t channels = p.x[3];
  const size_t count = p.method == SampleMethod::Nearest ? 1 : p.method == SampleMethod::Bilinear ? 2 : 4;
  const Axis rows{p.x[1], p.padding, p.align_corners}, columns{p.x[2], p.padding, p.align_corners};
  const Taps row = find_taps(rows, p.method, y), column = find_taps(columns, p.method, x);
  // Elements outside count with their weights, too.
  const bool is_nan = std::isnan(row.weight[0]) || std::isnan(column.weight[0]);
  std::fill_n(out, channels, is_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      if (row.at[i] < 0 || column.at[j] < 0) {
        continue;
      }
      const float weight = row.weight[i] * column.weight[j];
      const size_t pixel = static_cast<size_t>(row.at[i]) * p.x[2] + static_cast<size_t>(column.at[j]);
      const float* const from = image + pixel * channels;
      for (size_t c = 0; c < channels; ++c) {
        out[c] += weight * from[c];
      }
    }
  }
}

} // namespace executorch::backends::et_xnnpack
