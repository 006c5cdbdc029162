// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "../ops/op.h"
#include "cubic.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::ResizeKind;

constexpr size_t kGrain = 16384; // elements

// The input positions that one output position is a weighted sum of.
struct Taps {
  std::array<size_t, 4> at{};
  std::array<float, 4> weight{};
};

size_t num_taps(ResizeKind kind) {
  switch (kind) {
    case ResizeKind::Nearest:
    case ResizeKind::NearestExact:
      return 1;
    case ResizeKind::Bilinear:
      return 2;
    case ResizeKind::Bicubic:
      break;
  }
  return 4;
}

struct Axis {
  size_t in, out;
  double scale; // 0: in / out
  ResizeKind kind;
  bool align_corners;

  float source(size_t i) const {
    if (align_corners) {
      return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) * static_cast<float>(i) : 0;
    }
    const float step = scale > 0 ? static_cast<float>(scale) : static_cast<float>(in) / static_cast<float>(out);
    if (kind == ResizeKind::Nearest) {
      return step * static_cast<float>(i);
    }
    if (kind == ResizeKind::NearestExact) {
      return step * (static_cast<float>(i) + 0.5f);
    }
    const float x = step * (static_cast<float>(i) + 0.5f) - 0.5f;
    return kind == ResizeKind::Bilinear ? std::max(x, 0.0f) : x;
  }

  size_t clamped(int64_t i) const {
    return static_cast<size_t>(std::clamp<int64_t>(i, 0, static_cast<int64_t>(in) - 1));
  }

  Taps taps(size_t i) const {
    Taps taps;
    const float x = source(i);
    const float floored = std::floor(x);
    const auto first = static_cast<int64_t>(floored);
    const float t = std::min(std::max(x - floored, 0.0f), 1.0f);
    if (num_taps(kind) == 1) {
      taps.at[0] = clamped(first);
      taps.weight[0] = 1;
    } else if (kind == ResizeKind::Bilinear) {
      taps.at = {clamped(first), clamped(first + 1), 0, 0};
      taps.weight = {1 - t, t, 0, 0};
    } else {
      taps.at = {clamped(first - 1), clamped(first), clamped(first + 1), clamped(first + 2)};
      taps.weight = {cubic(t + 1), cubic(t), cubic(1 - t), cubic(2 - t)};
    }
    return taps;
  }
};

class Resize2d final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Resize2d>();
    x_ = node.input(0).shape;
    y_ = node.output().shape;
    num_taps_ = num_taps(attributes.kind());
    const auto fill = [&](size_t axis, double scale, std::vector<Taps>* table) {
      const Axis positions{x_[axis], y_[axis], scale, attributes.kind(), attributes.align_corners()};
      table->resize(y_[axis]);
      for (size_t i = 0; i < y_[axis]; ++i) {
        (*table)[i] = positions.taps(i);
      }
    };
    fill(1, attributes.scale_height(), &rows_);
    fill(2, attributes.scale_width(), &columns_);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* const x = arguments.input<float>(0);
    float* const y = arguments.output<float>(0);
    const size_t row_size = y_[2] * y_[3];
    parallel_for(arguments.pool, y_[0] * y_[1], kGrain / (row_size + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const float* const image = x + row / y_[1] * x_.numel(1, 4);
        compute_row(image, rows_[row % y_[1]], y + row * row_size);
      }
    });
  }

 private:
  void compute_row(const float* image, const Taps& row, float* y) const {
    const size_t channels = y_[3];
    for (size_t column = 0; column < y_[2]; ++column, y += channels) {
      const Taps& taps = columns_[column];
      if (num_taps_ == 1) {
        std::memcpy(y, image + (row.at[0] * x_[2] + taps.at[0]) * channels, channels * sizeof(float));
        continue;
      }
      std::fill_n(y, channels, 0.0f);
      for (size_t i = 0; i < num_taps_; ++i) {
        for (size_t j = 0; j < num_taps_; ++j) {
          const float weight = row.weight[i] * taps.weight[j];
          // 0 * inf is not what interpolation at an exact position gives.
          if (weight == 0) {
            continue;
          }
          const float* const from = image + (row.at[i] * x_[2] + taps.at[j]) * channels;
          for (size_t c = 0; c < channels; ++c) {
            y[c] += weight * from[c];
          }
        }
      }
    }
  }

  Shape x_, y_;
  size_t num_taps_ = 1;
  std::vector<Taps> rows_, columns_; // by output position
};

} // namespace

std::unique_ptr<Kernel> make_resize2d(const NodeContext&) {
  return std::make_unique<Resize2d>();
}

} // namespace executorch::backends::et_xnnpack
