// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "runtime/ops/op.h"
#include "cubic.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::GridPaddingMode;
using schema::SampleKind;

constexpr size_t kGrain = 16384; // elements

// Positions along one axis of the image.
struct Axis {
  size_t size;
  GridPaddingMode border;
  bool align_corners;

  float middle(float x) const {
    const float n = static_cast<float>(size);
    return align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }

  // Where a position beyond the border stands for, as long as it is finite.
  float inside(float x) const {
    const float last = static_cast<float>(size - 1);
    switch (border) {
      case GridPaddingMode::Zeros:
        return x;
      case GridPaddingMode::Reflection:
        x = reflected(x);
        break;
      case GridPaddingMode::Border:
        break;
    }
    return std::min(last, std::max(0.0f, x)); // NaN gives 0
  }

  // -1 if the element lies outside and counts as zero.
  int64_t element(float x) const {
    x = inside(x);
    const bool found = x >= 0 && x <= static_cast<float>(size - 1); // false for NaN
    return found ? static_cast<int64_t>(x) : -1;
  }

 private:
  float reflected(float x) const {
    const float low = align_corners ? 0 : -0.5f;
    const float span = static_cast<float>(align_corners ? size - 1 : size);
    if (span == 0) {
      return 0;
    }
    const float distance = std::fabs(x - low);
    const float extra = std::fmod(distance, span);
    const bool even = std::fmod(std::floor(distance / span), 2.0f) == 0;
    return even ? extra + low : span - extra + low;
  }
};

// What one output position reads along one axis; places of -1 count as zero.
struct Taps {
  std::array<int64_t, 4> at{};
  std::array<float, 4> weight{};
};

Taps find_taps(const Axis& axis, SampleKind kind, float position) {
  Taps taps;
  const float middle = axis.middle(position);
  if (kind == SampleKind::Bicubic) {
    const float floored = std::floor(middle);
    const float t = middle - floored;
    for (int i = 0; i < 4; ++i) {
      taps.at[static_cast<size_t>(i)] = axis.element(floored + static_cast<float>(i - 1));
    }
    taps.weight = {cubic(t + 1), cubic(t), cubic(1 - t), cubic(2 - t)};
    return taps;
  }
  const float x = axis.inside(middle);
  if (kind == SampleKind::Nearest) {
    const float rounded = std::nearbyint(x);
    const bool found = rounded >= 0 && rounded <= static_cast<float>(axis.size - 1);
    taps.at[0] = found ? static_cast<int64_t>(rounded) : -1;
    taps.weight[0] = 1;
    return taps;
  }
  const float floored = std::floor(x);
  const auto place = [&](float at) {
    return at >= 0 && at <= static_cast<float>(axis.size - 1) ? static_cast<int64_t>(at) : -1;
  };
  taps.at = {place(floored), place(floored + 1), 0, 0};
  taps.weight = {floored + 1 - x, x - floored, 0, 0};
  return taps;
}

class GridSample final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::GridSample>();
    x_ = node.input(0).shape;
    y_ = node.output().shape;
    kind_ = attributes.kind();
    rows_ = {x_[1], attributes.padding_mode(), attributes.align_corners()};
    columns_ = {x_[2], attributes.padding_mode(), attributes.align_corners()};
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* const grid = arguments.input<float>(1);
    const size_t channels = x_[3], pixels = y_[1] * y_[2];
    parallel_for(arguments.pool, y_[0] * pixels, kGrain / (channels + 16) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float* const image = arguments.input<float>(0) + i / pixels * x_.numel(1, 4);
        sample(image, grid[2 * i], grid[2 * i + 1], arguments.output<float>(0) + i * channels);
      }
    });
  }

 private:
  void sample(const float* image, float x, float y, float* out) const {
    const size_t channels = x_[3];
    const size_t count = kind_ == SampleKind::Nearest ? 1 : kind_ == SampleKind::Bilinear ? 2 : 4;
    const Taps row = find_taps(rows_, kind_, y), column = find_taps(columns_, kind_, x);
    std::fill_n(out, channels, 0.0f);
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) {
        if (row.at[i] < 0 || column.at[j] < 0) {
          continue;
        }
        const float weight = row.weight[i] * column.weight[j];
        const size_t place = static_cast<size_t>(row.at[i]) * x_[2] + static_cast<size_t>(column.at[j]);
        const float* const from = image + place * channels;
        for (size_t c = 0; c < channels; ++c) {
          out[c] += weight * from[c];
        }
      }
    }
  }

  Shape x_, y_;
  SampleKind kind_ = SampleKind::Bilinear;
  Axis rows_{}, columns_{};
};

} // namespace

std::unique_ptr<Kernel> make_grid_sample(const NodeContext&) {
  return std::make_unique<GridSample>();
}

} // namespace executorch::backends::et_xnnpack
