// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cubic.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"
#include "resize_blend.h"
#include "runtime/kernels/common/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/image/resize.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The weighted sum of the taps at element `i` of each.
template <class D>
HWY_INLINE hn::Vec<D> sum(D d, const float* const* taps, const hn::Vec<D>* weights, size_t count, size_t i) {
  auto result = hn::Mul(weights[0], hn::LoadU(d, taps[0] + i));
  for (size_t k = 1; k < count; ++k) {
    result = hn::MulAdd(weights[k], hn::LoadU(d, taps[k] + i), result);
  }
  return result;
}

void blend_rows(const float* image, size_t row_size, const Taps& taps, float* y) {
  const hn::ScalableTag<float> f;
  const size_t lanes = hn::Lanes(f);
  const float* rows[4] = {image};
  hn::Vec<decltype(f)> weights[4];
  for (size_t k = 0; k < taps.count; ++k) {
    rows[k] = image + taps.at[k] * row_size;
    weights[k] = hn::Set(f, taps.weight[k]);
  }
  size_t i = 0;
  for (; i + lanes <= row_size; i += lanes) {
    hn::StoreU(sum(f, rows, weights, taps.count, i), f, y + i);
  }
  for (; i < row_size; ++i) {
    float result = taps.weight[0] * rows[0][i];
    for (size_t k = 1; k < taps.count; ++k) {
      result += taps.weight[k] * rows[k][i];
    }
    y[i] = result;
  }
}

// For pixels of at least one vector.
template <class D>
void blend_columns(D d, const float* row, size_t channels, const Taps* columns, size_t count, float* y) {
  const size_t lanes = hn::Lanes(d);
  const size_t last = channels - lanes;
  for (size_t column = 0; column < count; ++column, y += channels) {
    const Taps& taps = columns[column];
    const float* pixels[4] = {row};
    hn::Vec<D> weights[4];
    for (size_t k = 0; k < taps.count; ++k) {
      pixels[k] = row + taps.at[k] * channels;
      weights[k] = hn::Set(d, taps.weight[k]);
    }
    for (size_t c = 0; c < last; c += lanes) {
      hn::StoreU(sum(d, pixels, weights, taps.count, c), d, y + c);
    }
    hn::StoreU(sum(d, pixels, weights, taps.count, last), d, y + last);
  }
}

// For pixels of less than four floats. Reads up to kRowPadding floats behind the row.
void blend_narrow_columns(const float* row, size_t channels, const Taps* columns, size_t count, float* y) {
  const hn::CappedTag<float, 4> d;
  size_t left = count * channels;
  for (size_t column = 0; column < count; ++column, y += channels, left -= channels) {
    const Taps& taps = columns[column];
    const float* pixels[4] = {row};
    hn::Vec<decltype(d)> weights[4];
    for (size_t k = 0; k < taps.count; ++k) {
      pixels[k] = row + taps.at[k] * channels;
      weights[k] = hn::Set(d, taps.weight[k]);
    }
    const auto result = sum(d, pixels, weights, taps.count, 0);
    // What it writes too much the next pixels overwrite.
    if (left >= 4) {
      hn::StoreU(result, d, y);
    } else {
      hn::StoreN(result, d, y, channels);
    }
  }
}

void blend_columns(const float* row, size_t channels, const Taps* columns, size_t count, float* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, 4> narrow;
  if (channels >= hn::Lanes(wide)) {
    blend_columns(wide, row, channels, columns, count, y);
  } else if (channels >= hn::Lanes(narrow)) {
    blend_columns(narrow, row, channels, columns, count, y);
  } else {
    blend_narrow_columns(row, channels, columns, count, y);
  }
}

Blend choose_blend() {
  return {blend_rows, blend_columns};
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_blend);

namespace {

constexpr size_t kGrain = 16384; // elements

size_t num_taps(ResizeMethod method) {
  switch (method) {
    case ResizeMethod::Nearest:
    case ResizeMethod::NearestExact:
      return 1;
    case ResizeMethod::Bilinear:
      return 2;
    case ResizeMethod::Bicubic:
      break;
  }
  return 4;
}

struct Axis {
  size_t in, out;
  double scale; // 0: in / out
  ResizeMethod method;
  bool align_corners;
  bool whole_steps;

  float source(size_t i) const {
    if (method == ResizeMethod::Bilinear && in == out) {
      return static_cast<float>(i);
    }
    if (align_corners) {
      return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) * static_cast<float>(i) : 0;
    }
    const bool by_sizes = scale == 0 || (whole_steps && (out == in || out == 2 * in));
    const float step = by_sizes ? static_cast<float>(in) / static_cast<float>(out) : static_cast<float>(scale);
    if (method == ResizeMethod::Nearest) {
      return step * static_cast<float>(i);
    }
    if (method == ResizeMethod::NearestExact) {
      return step * (static_cast<float>(i) + 0.5f);
    }
    const float x = std::fma(step, static_cast<float>(i) + 0.5f, -0.5f); // as PyTorch's kernels are compiled
    return method == ResizeMethod::Bilinear ? std::max(x, 0.0f) : x;
  }

  size_t clamped(int64_t i) const {
    return static_cast<size_t>(std::clamp<int64_t>(i, 0, static_cast<int64_t>(in) - 1));
  }

  Taps taps(size_t i) const {
    Taps taps;
    // Far outside all taps are of the last pixel. A scale of a program may be any.
    const float x = std::clamp(source(i), -2.0f, static_cast<float>(in) + 2);
    const float floored = std::floor(x);
    const auto first = static_cast<int64_t>(floored);
    const float t = std::min(std::max(x - floored, 0.0f), 1.0f);
    if (num_taps(method) == 1) {
      taps.add(clamped(first), 1);
    } else if (method == ResizeMethod::Bilinear) {
      taps.add(clamped(first), 1 - t);
      taps.add(in == out ? clamped(first) : clamped(first + 1), t); // nothing of a neighbour, not even 0 * NaN
    } else {
      taps.add(clamped(first - 1), cubic(t + 1));
      taps.add(clamped(first), cubic(t));
      taps.add(clamped(first + 1), cubic(1 - t));
      taps.add(clamped(first + 2), cubic(2 - t));
    }
    return taps;
  }
};

} // namespace

StatusOr<size_t> Resize2d::reshape(const Resize2dParameters& parameters, size_t num_threads) {
  x_ = parameters.x;
  y_ = parameters.y;
  num_taps_ = num_taps(parameters.method);
  const auto fill = [&](size_t axis, double scale, Array<Taps>* table) -> Status {
    const Axis positions{
        x_[axis], y_[axis], scale, parameters.method, parameters.align_corners, parameters.whole_steps};
    ETX_RETURN_IF_ERROR(table->assign(y_[axis]));
    for (size_t i = 0; i < y_[axis]; ++i) {
      (*table)[i] = positions.taps(i);
    }
    return {};
  };
  ETX_RETURN_IF_ERROR(fill(1, parameters.scale_height, &rows_));
  ETX_RETURN_IF_ERROR(fill(2, parameters.scale_width, &columns_));
  blend_ = ETX_DISPATCH(choose_blend)();
  separates_ = num_taps_ > 1 && x_[2] <= 2 * y_[2];
  row_floats_ = separates_ ? round_up(x_[2] * x_[3] + kRowPadding, kRowPadding) : 0;
  return row_floats_ * sizeof(float) * std::max<size_t>(num_threads, 1);
}

void Resize2d::run(const KernelArguments& arguments) const {
  const float* const x = arguments.input<float>(0);
  float* const y = arguments.output<float>(0);
  const size_t row_size = y_[2] * y_[3], rows = y_[0] * y_[1];
  if (y_.numel() == 0) {
    return;
  }
  const size_t grain = kGrain / row_size + 1;
  parallel_for_with_thread(arguments.pool, divide_up(rows, grain), [&](size_t thread, size_t part) {
    float* const blended = static_cast<float*>(arguments.scratch) + thread * row_floats_;
    for (size_t row = part * grain; row < std::min(rows, (part + 1) * grain); ++row) {
      const float* const image = x + row / y_[1] * x_.numel(1, 4);
      const Taps& taps = rows_[row % y_[1]];
      if (separates_) {
        blend_.rows(image, x_[2] * x_[3], taps, blended);
        std::fill_n(blended + x_[2] * x_[3], size_t{3}, 0.0f);
        blend_.columns(blended, x_[3], columns_.data(), y_[2], y + row * row_size);
      } else {
        compute_row(image, taps, y + row * row_size);
      }
    }
  });
}

// Pixel by pixel, for images that become much narrower.
void Resize2d::compute_row(const float* image, const Taps& row, float* y) const {
  const size_t channels = y_[3];
  for (size_t column = 0; column < y_[2]; ++column, y += channels) {
    const Taps& taps = columns_[column];
    if (num_taps_ == 1) {
      std::memcpy(y, image + (row.at[0] * x_[2] + taps.at[0]) * channels, channels * sizeof(float));
      continue;
    }
    std::fill_n(y, channels, 0.0f);
    for (size_t i = 0; i < row.count; ++i) {
      for (size_t j = 0; j < taps.count; ++j) {
        const float weight = row.weight[i] * taps.weight[j];
        const float* const from = image + (row.at[i] * x_[2] + taps.at[j]) * channels;
        for (size_t c = 0; c < channels; ++c) {
          y[c] += weight * from[c];
        }
      }
    }
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
