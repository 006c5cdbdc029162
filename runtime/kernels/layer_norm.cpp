// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "layer_norm.h"

#include <cmath>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

class LayerNorm final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::LayerNorm>();
    const Shape& shape = node.input(0).shape;
    const size_t split = shape.rank - attributes.axes();
    rows_ = shape.numel(0, split);
    length_ = shape.numel(split, shape.rank);
    epsilon_ = attributes.epsilon();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* input = static_cast<const float*>(arguments.inputs[0]);
    const float* weight = arguments.inputs.size() > 1 ? static_cast<const float*>(arguments.inputs[1]) : nullptr;
    const float* bias = arguments.inputs.size() > 2 ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    float* output = static_cast<float*>(arguments.outputs[0]);
    for (size_t row = 0; row < rows_; ++row, input += length_, output += length_) {
      double sum = 0;
      for (size_t i = 0; i < length_; ++i) {
        sum += input[i];
      }
      const double mean = sum / static_cast<double>(length_);
      double squares = 0;
      for (size_t i = 0; i < length_; ++i) {
        squares += (input[i] - mean) * (input[i] - mean);
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(length_) + epsilon_);
      for (size_t i = 0; i < length_; ++i) {
        const double y = (input[i] - mean) * scale;
        output[i] = static_cast<float>(y * (weight ? weight[i] : 1.0f) + (bias ? bias[i] : 0.0f));
      }
    }
  }

 private:
  size_t rows_ = 0;
  size_t length_ = 0;
  float epsilon_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_layer_norm(const NodeContext&) {
  return std::make_unique<LayerNorm>();
}

} // namespace executorch::backends::et_xnnpack
