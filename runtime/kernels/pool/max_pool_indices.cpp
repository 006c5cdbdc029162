// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "max_pool_indices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/base/memory.h"
#include "runtime/ops/op.h"
#include "pool_row.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 16384; // elements

class MaxPoolIndices final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& pool = node.attributes<schema::MaxPoolIndices>();
    x_ = node.input(0).shape;
    y_ = node.output().shape;
    for (uint32_t axis = 0; axis < 3; ++axis) {
      Array<PoolWindow>& windows = windows_[axis];
      ETX_RETURN_IF_ERROR(windows.assign(y_[axis + 1]));
      const size_t size = x_[axis + 1];
      for (size_t i = 0; i < windows.size(); ++i) {
        if (pool.output() != nullptr) {
          windows[i] = {i * size / windows.size(), ((i + 1) * size + windows.size() - 1) / windows.size(), 1, 0};
          continue;
        }
        const auto get = [axis](const flatbuffers::Vector<uint32_t>* sizes, int64_t missing) {
          return sizes == nullptr ? missing : int64_t{sizes->Get(axis)};
        };
        const int64_t step = get(pool.dilation(), 1);
        const int64_t origin = static_cast<int64_t>(i) * get(pool.stride(), 1) - get(pool.before(), 0);
        const int64_t begin = origin >= 0 ? origin : origin + (-origin + step - 1) / step * step;
        const int64_t end = origin + (get(pool.kernel(), 1) - 1) * step + 1;
        windows[i] = {
            static_cast<size_t>(begin),
            static_cast<size_t>(std::clamp<int64_t>(end, 0, static_cast<int64_t>(size))),
            static_cast<size_t>(step),
            0};
      }
    }
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const size_t row = y_[3] * y_[4];
    parallel_for(arguments.pool, y_.numel(0, 3), kGrain / (row + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        pool_row(arguments, i, arguments.output<float>(0) + i * row, arguments.output<int64_t>(1) + i * row);
      }
    });
  }

 private:
  // One row of output, number i of all.
  void pool_row(const KernelArguments& arguments, size_t i, float* y, int64_t* index) const {
    const PoolWindow& height = windows_[1][i % y_[2]];
    const PoolWindow& depth = windows_[0][i / y_[2] % y_[1]];
    const float* image = arguments.input<float>(0) + i / y_[2] / y_[1] * x_.numel(1, 5);
    for (const PoolWindow& width : windows_[2]) {
      const size_t first = (depth.begin * x_[2] + height.begin) * x_[3] + width.begin;
      std::fill_n(y, x_[4], -std::numeric_limits<float>::infinity());
      std::fill_n(index, x_[4], static_cast<int64_t>(first));
      for (size_t d = depth.begin; d < depth.end; d += depth.step) {
        for (size_t h = height.begin; h < height.end; h += height.step) {
          for (size_t w = width.begin; w < width.end; w += width.step) {
            const size_t place = (d * x_[2] + h) * x_[3] + w;
            take_larger(image + place * x_[4], static_cast<int64_t>(place), y, index);
          }
        }
      }
      y += x_[4];
      index += x_[4];
    }
  }

  void take_larger(const float* x, int64_t place, float* y, int64_t* index) const {
    for (size_t c = 0; c < x_[4]; ++c) {
      if (x[c] > y[c] || std::isnan(x[c])) {
        y[c] = x[c];
        index[c] = place;
      }
    }
  }

  Shape x_, y_;
  std::array<Array<PoolWindow>, 3> windows_;
};

} // namespace

std::unique_ptr<Kernel> make_max_pool_indices(const NodeContext&) {
  return std::make_unique<MaxPoolIndices>();
}

} // namespace executorch::backends::et_xnnpack
