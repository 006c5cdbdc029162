// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

// The input positions begin, begin + step, ... below end that one output position
// reads along one axis, and how many it counts.
struct Window {
  size_t begin, end, step, counted;
};

class Pool final : public Kernel {
 public:
  using Windows = void (*)(const NodeContext& node, size_t axis, std::vector<Window>& windows);

  Pool(Windows windows, bool maximum) : windows_(windows), maximum_(maximum) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    input_ = node.input(0).shape;
    output_ = node.output().shape;
    rows_.resize(output_[1]);
    columns_.resize(output_[2]);
    windows_(node, 0, rows_);
    windows_(node, 1, columns_);
    divisor_ = node.node().attributes_type() == schema::Attributes::AvgPool2d
        ? node.attributes<schema::AvgPool2d>().divisor_override()
        : 0;
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* input = static_cast<const float*>(arguments.inputs[0]);
    float* output = static_cast<float*>(arguments.outputs[0]);
    const size_t channels = input_[3];
    for (size_t n = 0; n < input_[0]; ++n) {
      for (const Window& row : rows_) {
        for (const Window& column : columns_) {
          const size_t counted = divisor_ > 0 ? divisor_ : row.counted * column.counted;
          for (size_t c = 0; c < channels; ++c) {
            float value = maximum_ ? -std::numeric_limits<float>::infinity() : 0;
            for (size_t h = row.begin; h < row.end; h += row.step) {
              for (size_t w = column.begin; w < column.end; w += column.step) {
                const float x = input[((n * input_[1] + h) * input_[2] + w) * channels + c];
                if (!maximum_) {
                  value += x;
                } else if (x > value || std::isnan(x)) {
                  value = x;
                }
              }
            }
            *output++ = maximum_ ? value : value / static_cast<float>(counted);
          }
        }
      }
    }
  }

 private:
  const Windows windows_;
  const bool maximum_;
  Shape input_, output_;
  std::vector<Window> rows_, columns_;
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

void average_windows(const NodeContext& node, size_t axis, std::vector<Window>& windows) {
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

void max_windows(const NodeContext& node, size_t axis, std::vector<Window>& windows) {
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

void adaptive_windows(const NodeContext& node, size_t axis, std::vector<Window>& windows) {
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
