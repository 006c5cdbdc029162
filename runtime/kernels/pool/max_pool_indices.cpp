// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "max_pool_indices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 16384; // elements

} // namespace

StatusOr<size_t> MaxPoolIndices::reshape(const MaxPoolIndicesParameters& parameters, size_t /*num_threads*/) {
  parameters_ = parameters;
  for (size_t axis = 0; axis < windows_.size(); ++axis) {
    ETX_RETURN_IF_ERROR(assign_windows(parameters.axes[axis], windows_[axis]));
  }
  return size_t{0};
}

void MaxPoolIndices::run(const KernelArguments& arguments) {
  const size_t row = windows_[2].size() * parameters_.channels;
  const size_t rows = parameters_.images * windows_[0].size() * windows_[1].size();
  parallel_for(arguments.pool, rows, kGrain / (row + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      pool_row(
          arguments.input<float>(0), i, arguments.output<float>(0) + i * row, arguments.output<int64_t>(1) + i * row);
    }
  });
}

// One row of output, number i of all.
void MaxPoolIndices::pool_row(const float* x, size_t i, float* y, int64_t* index) const {
  const auto& [depths, heights, widths] = windows_;
  const size_t channels = parameters_.channels;
  const size_t input_depth = parameters_.axes[0].input, input_height = parameters_.axes[1].input;
  const size_t input_width = parameters_.axes[2].input;
  const PoolWindow& height = heights[i % heights.size()];
  const PoolWindow& depth = depths[i / heights.size() % depths.size()];
  const float* image = x + i / heights.size() / depths.size() * input_depth * input_height * input_width * channels;
  for (const PoolWindow& width : widths) {
    const size_t first = (depth.begin * input_height + height.begin) * input_width + width.begin;
    std::fill_n(y, channels, -std::numeric_limits<float>::infinity());
    std::fill_n(index, channels, static_cast<int64_t>(first));
    for (size_t d = depth.begin; d < depth.end; d += depth.step) {
      for (size_t h = height.begin; h < height.end; h += height.step) {
        for (size_t w = width.begin; w < width.end; w += width.step) {
          const size_t position = (d * input_height + h) * input_width + w;
          take_larger(image + position * channels, static_cast<int64_t>(position), y, index);
        }
      }
    }
    y += channels;
    index += channels;
  }
}

void MaxPoolIndices::take_larger(const float* x, int64_t position, float* y, int64_t* index) const {
  for (size_t c = 0; c < parameters_.channels; ++c) {
    if (x[c] > y[c] || std::isnan(x[c])) {
      y[c] = x[c];
      index[c] = position;
    }
  }
}

} // namespace executorch::backends::et_xnnpack
