// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_conv.h"

#include <type_traits>

#include "infer_conv.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/conv/unfold_width.h"
#include "runtime/ops/common/xnnpack_kernel.h"
#include "runtime/ops/common/xnnpack_product.h"
#include "runtime/ops/gemm/xnnpack_linear.h"

namespace executorch::backends::et_xnnpack {
namespace {

// What XNNPACK calls the two operators, and their functions in each format.
struct Convolution {
  static constexpr const char* kName = "xnn_create_convolution2d_nhwc";
  static constexpr auto kTable = std::make_tuple(
      product_row<ProductFormat::Float32>(
          xnn_create_convolution2d_nhwc_f32, xnn_reshape_convolution2d_nhwc_f32, xnn_setup_convolution2d_nhwc_f32),
      product_row<ProductFormat::Float16>(
          xnn_create_convolution2d_nhwc_f16, xnn_reshape_convolution2d_nhwc_f16, xnn_setup_convolution2d_nhwc_f16),
      product_row<ProductFormat::Int8>(
          xnn_create_convolution2d_nhwc_qs8, xnn_reshape_convolution2d_nhwc_qs8, xnn_setup_convolution2d_nhwc_qs8),
      product_row<ProductFormat::Int8ByChannel>(
          xnn_create_convolution2d_nhwc_qs8_qc8w,
          xnn_reshape_convolution2d_nhwc_qs8_qc8w,
          xnn_setup_convolution2d_nhwc_qs8_qc8w),
      product_row<ProductFormat::DynamicInt8>(
          xnn_create_convolution2d_nhwc_qd8_f32_qc8w,
          xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w,
          xnn_setup_convolution2d_nhwc_qd8_f32_qc8w),
      product_row<ProductFormat::DynamicUInt8>(
          xnn_create_convolution2d_nhwc_qdu8_f32_qc8w,
          xnn_reshape_convolution2d_nhwc_qdu8_f32_qc8w,
          xnn_setup_convolution2d_nhwc_qdu8_f32_qc8w));
};

struct Deconvolution {
  static constexpr const char* kName = "xnn_create_deconvolution2d_nhwc";
  static constexpr auto kTable = std::make_tuple(
      product_row<ProductFormat::Float32>(
          xnn_create_deconvolution2d_nhwc_f32,
          xnn_reshape_deconvolution2d_nhwc_f32,
          xnn_setup_deconvolution2d_nhwc_f32),
      product_row<ProductFormat::Float16>(
          xnn_create_deconvolution2d_nhwc_f16,
          xnn_reshape_deconvolution2d_nhwc_f16,
          xnn_setup_deconvolution2d_nhwc_f16),
      product_row<ProductFormat::Int8>(
          xnn_create_deconvolution2d_nhwc_qs8,
          xnn_reshape_deconvolution2d_nhwc_qs8,
          xnn_setup_deconvolution2d_nhwc_qs8),
      product_row<ProductFormat::Int8ByChannel>(
          xnn_create_deconvolution2d_nhwc_qs8_qc8w,
          xnn_reshape_deconvolution2d_nhwc_qs8_qc8w,
          xnn_setup_deconvolution2d_nhwc_qs8_qc8w),
      product_row<ProductFormat::DynamicInt8>(
          xnn_create_deconvolution2d_nhwc_qd8_f32_qc8w,
          xnn_reshape_deconvolution2d_nhwc_qd8_f32_qc8w,
          xnn_setup_deconvolution2d_nhwc_qd8_f32_qc8w),
      product_row<ProductFormat::DynamicUInt8>(
          xnn_create_deconvolution2d_nhwc_qdu8_f32_qc8w,
          xnn_reshape_deconvolution2d_nhwc_qdu8_f32_qc8w,
          xnn_setup_deconvolution2d_nhwc_qdu8_f32_qc8w));
};

// Sizes as the create functions of both take them, without the weight.
struct Geometry {
  uint32_t top, right, bottom, left;
  uint32_t kernel_height, kernel_width;
  uint32_t stride_height, stride_width;
  uint32_t dilation_height, dilation_width;
  uint32_t groups;
  size_t group_input_channels, group_output_channels;

  template <typename Attributes>
  Geometry(const Attributes& attributes, const Shape& weight)
      : top(attributes.padding()->top()),
        right(attributes.padding()->right()),
        bottom(attributes.padding()->bottom()),
        left(attributes.padding()->left()),
        kernel_height(static_cast<uint32_t>(weight[1])),
        kernel_width(static_cast<uint32_t>(weight[2])),
        stride_height(attributes.stride()->height()),
        stride_width(attributes.stride()->width()),
        dilation_height(attributes.dilation()->height()),
        dilation_width(attributes.dilation()->width()),
        groups(attributes.groups()),
        group_input_channels(weight[3]),
        group_output_channels(weight[0] / groups) {}

  // Of images that unfold_width() made, with the same weight.
  Geometry with_unfolded_width() const {
    Geometry unfolded = *this;
    unfolded.group_input_channels *= kernel_width;
    unfolded.kernel_width = unfolded.stride_width = unfolded.dilation_width = 1;
    unfolded.left = unfolded.right = 0;
    return unfolded;
  }

  auto arguments() const {
    return std::make_tuple(
        top,
        right,
        bottom,
        left,
        kernel_height,
        kernel_width,
        stride_height,
        stride_width,
        dilation_height,
        dilation_width,
        groups,
        group_input_channels,
        group_output_channels,
        /*input_pixel_stride=*/group_input_channels * groups,
        /*output_pixel_stride=*/group_output_channels * groups);
  }
};

// Whether to unfold the width of images of 8 bits: XNNPACK multiplies by as many channels of each tap as a multiple of 8,
// which for images of few channels is by zeros for the most part.
bool unfolds_width(const Geometry& conv) {
  constexpr size_t kUnit = 8, kMultiplicationsPerByte = 16; // in the time that a byte of the image takes to be unfolded
  const size_t channels = conv.group_input_channels, unfolded = conv.kernel_width * channels;
  const size_t saved =
      conv.kernel_width * round_up(channels, kUnit) - round_up(unfolded, kUnit); // in each row of a window
  return conv.groups == 1 && conv.dilation_width == 1 &&
      saved * conv.kernel_height * conv.group_output_channels >=
      kMultiplicationsPerByte * unfolded * conv.stride_height;
}

template <typename Attributes>
class XnnpackConv : public XnnpackKernel {
  static constexpr bool kIsTransposed = std::is_same_v<Attributes, schema::ConvTranspose2d>;
  using Functions = std::conditional_t<kIsTransposed, Deconvolution, Convolution>;

 public:
  XnnpackConv(const NodeContext& node, bool float16)
      : XnnpackKernel(float16),
        format_(product_format(node, float16, node.attributes<Attributes>().dynamic_quantization())),
        unfolds_width_(
            !kIsTransposed && (format_ == ProductFormat::Int8 || format_ == ProductFormat::Int8ByChannel) &&
            unfolds_width(geometry_of(node))) {}

 protected:
  Status create_operators(const NodeContext& node, ConstantSource& constants) override {
    PackingKey key(Functions::kName);
    std::apply([&](auto... numbers) { key.add(numbers...); }, geometry(node).arguments());
    describe_product(node, format_, key);
    std::optional<PackedOperator::Operand> bias;
    if (node.has_input(2)) {
      bias = {2, node.input(2).bytes()};
    }
    ETX_RETURN_IF_ERROR(
        product_.load(constants, key, {1, node.input(1).bytes()}, bias, Functions::kName, create(node)));
    if (!is_dynamic()) {
      return {};
    }
    if (XnnpackDynamicQuantization::loses_nan()) {
      ConstantData added;
      if (node.has_input(2)) {
        ETX_ASSIGN_OR_RETURN(added, constants.load(2));
      }
      const float* const scale = node.input(1).quantization->scale()->data();
      quantization_.remember_columns(scale, node.input(1).shape[0], 1, static_cast<const float*>(added.data));
    }
    return quantization_.create(format_ == ProductFormat::DynamicUInt8);
  }

  bool packs(size_t i) const override {
    return i > 0;
  }
  bool loads_always(const NodeContext&, size_t i) const override {
    return i == 2 && is_dynamic() && XnnpackDynamicQuantization::loses_nan();
  }

  Status reshape_operators(const NodeContext& node) override {
    const Shape& x = node.input(0).shape;
    if (is_dynamic()) {
      // It keeps a row of zero points for each image of an earlier batch, and mixes them up for another number of them.
      if (images_ != 0 && images_ != x[0]) {
        ETX_RETURN_IF_ERROR(product_.create_again(create(node)));
      }
      images_ = x[0];
      ETX_RETURN_IF_ERROR(quantization_.reshape(x[0], x.numel(1, 4), pool()));
      quantized_offset_ = add_scratch(XnnpackDynamicQuantization::bytes(x[0], x.numel(1, 4)));
      parameters_offset_ = add_scratch(XnnpackDynamicQuantization::parameter_bytes(x[0]));
      add_step(quantization_.get());
    }
    if (unfolds_width_) {
      ETX_RETURN_IF_ERROR(reshape_unfold(node));
    }
    size_t workspace_bytes = 0, height = 0, width = 0;
    ETX_RETURN_IF_ERROR(
        check_xnn(reshape_product(node, &workspace_bytes, &height, &width), "xnn_reshape_convolution2d"));
    const Shape& y = node.output().shape;
    image_size_ = y.numel(1, 4);
    ETX_CHECK(
        height == y[1] && width == y[2],
        Internal,
        "XNNPACK makes an image of %zu x %zu instead of %zu x %zu",
        height,
        width,
        y[1],
        y[2]);
    workspace_offset_ = add_scratch(workspace_bytes);
    add_step(product_.get());
    return {};
  }

  Status set_up(const KernelArguments& arguments) override {
    const void* x = input(arguments, 0);
    void* const parameters = scratch(arguments, parameters_offset_);
    if (is_dynamic()) {
      void* const quantized = scratch(arguments, quantized_offset_);
      ETX_RETURN_IF_ERROR(quantization_.set_up(x, quantized, parameters));
      x = quantized;
    } else if (unfolds_width_) {
      x = scratch(arguments, unfolded_offset_);
    }
    return check_xnn(
        setup_product(
            scratch(arguments, workspace_offset_),
            x,
            arguments.outputs[0],
            static_cast<const xnn_quantization_params*>(parameters)),
        "xnn_setup_convolution2d");
  }

  void begin(const KernelArguments& arguments) override {
    if (unfolds_width_) {
      auto* const unfolded = static_cast<int8_t*>(scratch(arguments, unfolded_offset_));
      unfold_width(unfold_, static_cast<const int8_t*>(input(arguments, 0)), unfolded, arguments.pool);
    }
  }

  void finish(const KernelArguments& arguments) override {
    if (is_dynamic() && XnnpackDynamicQuantization::loses_nan()) {
      const void* const parameters = scratch(arguments, parameters_offset_);
      quantization_.mend(input(arguments, 0), parameters, arguments.outputs[0], image_size_, arguments.pool);
    }
  }

 private:
  bool is_dynamic() const {
    return format_ == ProductFormat::DynamicInt8 || format_ == ProductFormat::DynamicUInt8;
  }

  static Geometry geometry_of(const NodeContext& node) {
    return Geometry(node.attributes<Attributes>(), node.input(1).shape);
  }
  // Of the operator.
  Geometry geometry(const NodeContext& node) const {
    return unfolds_width_ ? geometry_of(node).with_unfolded_width() : geometry_of(node);
  }

  Status reshape_unfold(const NodeContext& node) {
    const Geometry conv = geometry_of(node);
    const Shape& x = node.input(0).shape;
    const TensorType unfolded{DType::Int8, {x[0], x[1], node.output().shape[2], conv.kernel_width, x[3]}};
    ETX_RETURN_IF_ERROR(check_size(unfolded).in("its image of unfolded windows"));
    const ProductParameters parameters = product_parameters(node, node.attributes<Attributes>().clamp());
    unfold_ = {
        x[0] * x[1],
        x[2],
        x[3],
        node.output().shape[2],
        conv.kernel_width,
        conv.stride_width,
        conv.left,
        parameters.x_zero_point};
    unfolded_offset_ = add_scratch(unfolded.bytes());
    return {};
  }

  PackedOperator::Create create(const NodeContext& node) const {
    const ProductWeights weights(node, node.attributes<Attributes>().clamp());
    return [format = format_, sizes = geometry(node), weights](
               const void* weight, const void* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return with_product_row(Functions::kTable, format, [&](const auto& row) {
        const auto create = [&](auto... how) {
          return std::apply(
              [&](auto... numbers) { return create_with_weights(row.create, cache, op, numbers..., how...); },
              sizes.arguments());
        };
        return weights.apply<std::decay_t<decltype(row)>::kFormat>(create, weight, bias);
      });
    };
  }

  // What only deconvolutions are reshaped with: more rows and columns at the end.
  static auto output_padding(const NodeContext& node) {
    if constexpr (kIsTransposed) {
      const schema::Size2D& padding = *node.attributes<Attributes>().output_padding();
      return std::make_tuple(uint32_t{padding.height()}, uint32_t{padding.width()});
    } else {
      (void)node;
      return std::tuple<>();
    }
  }

  xnn_status reshape_product(const NodeContext& node, size_t* workspace_bytes, size_t* height, size_t* width) {
    const Shape& x = node.input(0).shape;
    const size_t x_width = unfolds_width_ ? unfold_.output_width : x[2];
    const auto sizes = std::tuple_cat(std::make_tuple(product_.get(), x[0], x[1], x_width), output_padding(node));
    return with_product_row(Functions::kTable, format_, [&](const auto& row) {
      return reshape_with_workspace(row.reshape, sizes, workspace_bytes, std::make_tuple(height, width, pool()));
    });
  }

  xnn_status setup_product(void* workspace, Address x, Address y, const xnn_quantization_params* parameters) {
    return with_product_row(Functions::kTable, format_, [&](const auto& row) {
      const auto set_up = [&](auto... more) {
        return setup_with_workspace(
            row.set_up, std::make_tuple(product_.get()), workspace, std::make_tuple(x, y, more...));
      };
      constexpr ProductFormat kFormat = std::decay_t<decltype(row)>::kFormat;
      if constexpr (kFormat == ProductFormat::DynamicInt8 || kFormat == ProductFormat::DynamicUInt8) {
        return set_up(parameters);
      } else {
        return set_up();
      }
    });
  }

  const ProductFormat format_;
  const bool unfolds_width_;
  WidthUnfold unfold_{}; // of the last reshape(), if it unfolds
  PackedOperator product_;
  XnnpackDynamicQuantization quantization_; // of images, if the format needs it
  size_t image_size_ = 0; // of results, of the last reshape()
  size_t images_ = 0; // that the operator is made for, if it quantizes them
  size_t quantized_offset_ = 0, parameters_offset_ = 0, unfolded_offset_ = 0, workspace_offset_ = 0;
};

} // namespace

// A fully connected layer multiplies the pixels as rows, in larger blocks than a convolution, which in later versions of
// XNNPACK looks up the address of each.
bool is_pixel_product(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Conv2d>();
  return !attributes.dynamic_quantization() && attributes.groups() == 1 &&
      window_height<schema::Conv2d>(node).is_pointwise() && window_width<schema::Conv2d>(node).is_pointwise();
}

std::unique_ptr<Kernel> make_xnnpack_conv2d(const NodeContext& node, bool float16) {
  if (is_pixel_product(node)) {
    return make_xnnpack_pixel_product(node, float16);
  }
  return std::make_unique<XnnpackConv<schema::Conv2d>>(node, float16);
}

std::unique_ptr<Kernel> make_xnnpack_conv_transpose2d(const NodeContext& node, bool float16) {
  return std::make_unique<XnnpackConv<schema::ConvTranspose2d>>(node, float16);
}

} // namespace executorch::backends::et_xnnpack
