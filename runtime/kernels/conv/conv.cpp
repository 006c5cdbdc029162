// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "conv.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/ops/common/common.h"
#include "depthwise.h"
#include "runtime/kernels/gemm/matrix_product.h"
#include "runtime/kernels/gemm/narrow_product.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// A matrix product with the patches of the image that the taps of each output pixel see,
// gathered for as many pixels at a time as fit the scratch memory.
template <typename Attributes>
class Conv final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const auto& attributes = node.attributes<Attributes>();
    input_ = node.input(0).shape;
    weight_ = node.input(1).shape;
    output_ = node.output().shape;
    stride_ = *attributes.stride();
    padding_ = *attributes.padding();
    dilation_ = *attributes.dilation();
    groups_ = attributes.groups();

    product_ = {};
    product_.depth = weight_.numel(1, 4);
    product_.columns = weight_[0] / groups_;
    product_.b_stride = product_.depth;
    product_.b_transposed = true;
    product_.c_stride = weight_[0];
    product_.min = clamp_min(attributes.clamp());
    product_.max = clamp_max(attributes.clamp());
    const size_t pixels = output_.numel(0, 3);
    if (is_pointwise(attributes, input_, weight_, output_)) {
      product_.rows = chunk_ = pixels;
      product_.a_stride = input_[3];
      patches_ = 0;
    } else {
      chunk_ = std::min(pixels, std::max(kMinPixels, kPatchFloats / std::max<size_t>(product_.depth, 1)));
      product_.rows = chunk_;
      product_.a_stride = product_.depth;
      patches_ = (chunk_ * product_.depth * sizeof(float) + 63) / 64 * 64;
    }
    return patches_ + matrix_product_scratch(product_, num_threads);
  }

  void run(const KernelArguments& arguments) override {
    const float* x = arguments.input<float>(0);
    const float* weight = arguments.input<float>(1);
    const float* bias = arguments.input<float>(2);
    float* y = arguments.output<float>(0);
    float* patches = static_cast<float*>(arguments.scratch);
    void* scratch = static_cast<char*>(arguments.scratch) + patches_;
    const size_t pixels = output_.numel(0, 3);
    for (size_t group = 0; group < groups_; ++group) {
      const float* channels = x + group * weight_[3];
      MatrixProduct product = product_;
      product.b = weight + group * product.columns * product.depth;
      product.bias = bias == nullptr ? nullptr : bias + group * product.columns;
      for (size_t pixel = 0; pixel < pixels; pixel += chunk_) {
        product.rows = std::min(chunk_, pixels - pixel);
        product.c = y + pixel * product.c_stride + group * product.columns;
        if (patches_ == 0) {
          product.a = channels;
        } else {
          const size_t grain = kGrain / (product.depth + 1) + 1;
          parallel_for(arguments.pool, product.rows, grain, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
              gather(channels, pixel + i, patches + i * product.depth);
            }
          });
          product.a = patches;
        }
        multiply_matrices(product, scratch, arguments.pool);
      }
    }
  }

 private:
  static constexpr size_t kPatchFloats = 1 << 18, kMinPixels = 120, kGrain = 16384;
  static constexpr bool kTransposed = std::is_same_v<Attributes, schema::ConvTranspose2d>;

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

  // Writes what the taps of one output pixel see, [KH, KW, IC].
  void gather(const float* x, size_t pixel, float* patch) const {
    const size_t channels = weight_[3];
    const size_t column = pixel % output_[2];
    const size_t row = pixel / output_[2] % output_[1];
    const float* image = x + pixel / output_[2] / output_[1] * input_.numel(1, 4);
    for (size_t kh = 0; kh < weight_[1]; ++kh) {
      size_t h;
      const bool row_inside = source(row, kh, stride_.height(), padding_.top(), dilation_.height(), input_[1], &h);
      for (size_t kw = 0; kw < weight_[2]; ++kw, patch += channels) {
        size_t w;
        if (row_inside && source(column, kw, stride_.width(), padding_.left(), dilation_.width(), input_[2], &w)) {
          std::memcpy(patch, image + (h * input_[2] + w) * input_[3], channels * sizeof(float));
        } else {
          std::fill_n(patch, channels, 0.0f);
        }
      }
    }
  }

  Shape input_, weight_, output_;
  schema::Size2D stride_, dilation_;
  schema::Padding2D padding_;
  size_t groups_ = 1;
  MatrixProduct product_;
  size_t chunk_ = 0; // pixels
  size_t patches_ = 0; // bytes; 0: the image itself is the matrix
};

class DepthwiseConv final : public Kernel {
 public:
  DepthwiseConv() = default;
  // The weight stays as it is.
  explicit DepthwiseConv(const TensorType& weight) : type_(weight.stored) {}

  std::optional<std::string> packed_layout(const NodeContext&, size_t i) const override {
    return i == 1 ? std::optional(std::string(name_of(type_)) + " taps, channels") : std::nullopt;
  }
  size_t packed_bytes(const NodeContext& node, size_t) const override {
    return node.input(1).shape.numel() * element_size(type_);
  }
  Status pack(const NodeContext& node, size_t, const void* original, void* packed) const override {
    const Shape& weight = node.input(1).shape;
    pack_depthwise(type_, original, weight[0], weight[1] * weight[2], packed);
    return {};
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Conv2d>();
    const Shape& x = node.input(0).shape;
    const Shape& weight = node.input(1).shape;
    const Shape& y = node.output().shape;
    conv_.type = type_;
    if (type_ != DType::Float32) {
      ETX_RETURN_IF_ERROR(scales_.assign(node.input(1), weight[0]));
    }
    conv_.scale = scales_.scales();
    conv_.zero_point = scales_.zero_points();
    conv_.images = x[0];
    conv_.channels = x[3];
    conv_.height = {
        x[1],
        y[1],
        weight[1],
        attributes.stride()->height(),
        attributes.padding()->top(),
        attributes.dilation()->height()};
    conv_.width = {
        x[2],
        y[2],
        weight[2],
        attributes.stride()->width(),
        attributes.padding()->left(),
        attributes.dilation()->width()};
    conv_.min = clamp_min(attributes.clamp());
    conv_.max = clamp_max(attributes.clamp());
    is_packed_ = node.is_constant(1);
    return is_packed_ ? 0 : weight.numel() * sizeof(float);
  }

  void run(const KernelArguments& arguments) override {
    Depthwise conv = conv_;
    if (conv.channels == 0) {
      return;
    }
    const size_t taps = conv.height.kernel * conv.width.kernel;
    conv.input = arguments.input<float>(0);
    conv.weight = arguments.input<void>(1);
    if (!is_packed_) {
      pack_depthwise(type_, conv.weight, conv.channels, taps, arguments.scratch);
      conv.weight = arguments.scratch;
    }
    conv.bias = arguments.input<float>(2);
    conv.output = arguments.output<float>(0);
    const size_t grain = kGrain / (conv.width.output * conv.channels * taps + 1) + 1;
    parallel_for(arguments.pool, conv.images * conv.height.output, grain, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        row_(conv, row);
      }
    });
  }

 private:
  static constexpr size_t kGrain = 65536; // multiplications

  const DType type_ = DType::Float32;
  NarrowScales scales_;
  const DepthwiseRow row_ = choose_depthwise_row();
  Depthwise conv_;
  bool is_packed_ = false;
};

} // namespace

bool is_depthwise(const NodeContext& node) {
  const Shape& weight = node.input(1).shape;
  return weight[3] == 1 && weight[0] == node.input(0).shape[3];
}

std::unique_ptr<Kernel> make_narrow_depthwise(const NodeContext& node) {
  return std::make_unique<DepthwiseConv>(node.input(1));
}

std::unique_ptr<Kernel> make_conv2d(const NodeContext& node) {
  if (is_depthwise(node)) {
    return std::make_unique<DepthwiseConv>();
  }
  return std::make_unique<Conv<schema::Conv2d>>();
}

std::unique_ptr<Kernel> make_conv_transpose2d(const NodeContext&) {
  return std::make_unique<Conv<schema::ConvTranspose2d>>();
}

} // namespace executorch::backends::et_xnnpack
