// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "conv.h"

#include <algorithm>
#include <limits>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What both directions share. `Attributes` has stride, padding, dilation, groups, clamp.
template <typename Attributes, bool kTransposed>
class Conv final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<Attributes>();
    input_ = node.input(0).shape;
    weight_ = node.input(1).shape;
    output_ = node.output().shape;
    stride_ = *attributes.stride();
    padding_ = *attributes.padding();
    dilation_ = *attributes.dilation();
    groups_ = attributes.groups();
    min_ = attributes.clamp() == nullptr ? -kInfinity : attributes.clamp()->min();
    max_ = attributes.clamp() == nullptr ? kInfinity : attributes.clamp()->max();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* input = static_cast<const float*>(arguments.inputs[0]);
    const float* weight = static_cast<const float*>(arguments.inputs[1]);
    const float* bias = arguments.inputs.size() > 2 ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    float* output = static_cast<float*>(arguments.outputs[0]);
    const size_t outputs = output_[3] / groups_;
    const size_t channels = weight_[3];
    for (size_t n = 0; n < output_[0]; ++n) {
      for (size_t oh = 0; oh < output_[1]; ++oh) {
        for (size_t ow = 0; ow < output_[2]; ++ow) {
          for (size_t oc = 0; oc < output_[3]; ++oc) {
            float sum = bias == nullptr ? 0 : bias[oc];
            for (size_t kh = 0; kh < weight_[1]; ++kh) {
              size_t ih;
              if (!source(oh, kh, stride_.height(), padding_.top(), dilation_.height(), input_[1], &ih)) {
                continue;
              }
              for (size_t kw = 0; kw < weight_[2]; ++kw) {
                size_t iw;
                if (!source(ow, kw, stride_.width(), padding_.left(), dilation_.width(), input_[2], &iw)) {
                  continue;
                }
                const float* x = input + ((n * input_[1] + ih) * input_[2] + iw) * input_[3] + oc / outputs * channels;
                const float* w = weight + ((oc * weight_[1] + kh) * weight_[2] + kw) * channels;
                for (size_t c = 0; c < channels; ++c) {
                  sum += x[c] * w[c];
                }
              }
            }
            sum = sum < min_ ? min_ : sum;
            *output++ = sum > max_ ? max_ : sum;
          }
        }
      }
    }
  }

 private:
  // Gives the input position that tap k of output o reads; false if there is none.
  static bool source(size_t o, size_t k, size_t stride, size_t padding, size_t dilation, size_t size, size_t* i) {
    if (kTransposed) {
      const size_t shifted = o + padding - k * dilation;
      *i = shifted / stride;
      return o + padding >= k * dilation && shifted % stride == 0 && *i < size;
    }
    *i = o * stride + k * dilation - padding;
    return *i < size; // also false if it wrapped below 0
  }

  Shape input_, weight_, output_;
  schema::Size2D stride_, dilation_;
  schema::Padding2D padding_;
  size_t groups_ = 1;
  float min_ = -kInfinity, max_ = kInfinity;
};

} // namespace

std::unique_ptr<Kernel> make_conv2d(const NodeContext&) {
  return std::make_unique<Conv<schema::Conv2d, false>>();
}

std::unique_ptr<Kernel> make_conv_transpose2d(const NodeContext&) {
  return std::make_unique<Conv<schema::ConvTranspose2d, true>>();
}

} // namespace executorch::backends::et_xnnpack
