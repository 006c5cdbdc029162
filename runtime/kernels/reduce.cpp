// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduce.h"

#include <cmath>
#include <limits>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

class Reduce final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Reduce>();
    shape_ = node.input(0).shape;
    strides_ = {};
    size_t stride = 1, reduced = 1;
    for (size_t axis = shape_.rank, next = attributes.axes()->size(); axis-- > 0;) {
      if (next > 0 && attributes.axes()->Get(static_cast<uint32_t>(next - 1)) == axis) {
        --next;
        reduced *= shape_[axis];
      } else {
        strides_[axis] = stride;
        stride *= shape_[axis];
      }
    }
    outputs_ = stride;
    factor_ = attributes.kind() == schema::ReduceKind::Mean ? 1 / static_cast<double>(reduced) : 1;
    return outputs_ * sizeof(double);
  }

  void run(const KernelArguments& arguments) override {
    const float* input = static_cast<const float*>(arguments.inputs[0]);
    float* output = static_cast<float*>(arguments.outputs[0]);
    double* sums = static_cast<double*>(arguments.scratch);
    for (size_t i = 0; i < outputs_; ++i) {
      sums[i] = 0;
    }
    for (size_t i = 0; i < shape_.numel(); ++i) {
      size_t rest = i, offset = 0;
      for (size_t axis = shape_.rank; axis-- > 0; rest /= shape_[axis]) {
        offset += rest % shape_[axis] * strides_[axis];
      }
      sums[offset] += input[i];
    }
    for (size_t i = 0; i < outputs_; ++i) {
      output[i] = static_cast<float>(sums[i] * factor_);
    }
  }

 private:
  Shape shape_;
  std::array<size_t, kMaxRank> strides_{};
  size_t outputs_ = 0;
  double factor_ = 1;
};

class Softmax final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const size_t axis = node.attributes<schema::Softmax>().axis();
    const Shape& shape = node.input(0).shape;
    outer_ = shape.numel(0, axis);
    size_ = shape[axis];
    inner_ = shape.numel(axis + 1, shape.rank);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    for (size_t i = 0; i < outer_ * inner_; ++i) {
      const size_t offset = i / inner_ * size_ * inner_ + i % inner_;
      const float* input = static_cast<const float*>(arguments.inputs[0]) + offset;
      float* output = static_cast<float*>(arguments.outputs[0]) + offset;
      float highest = -std::numeric_limits<float>::infinity();
      for (size_t k = 0; k < size_; ++k) {
        highest = std::max(highest, input[k * inner_]);
      }
      double sum = 0;
      for (size_t k = 0; k < size_; ++k) {
        output[k * inner_] = std::exp(input[k * inner_] - highest);
        sum += output[k * inner_];
      }
      for (size_t k = 0; k < size_; ++k) {
        output[k * inner_] = static_cast<float>(output[k * inner_] / sum);
      }
    }
  }

 private:
  size_t outer_ = 0, size_ = 0, inner_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_reduce(const NodeContext&) {
  return std::make_unique<Reduce>();
}

std::unique_ptr<Kernel> make_softmax(const NodeContext&) {
  return std::make_unique<Softmax>();
}

} // namespace executorch::backends::et_xnnpack
