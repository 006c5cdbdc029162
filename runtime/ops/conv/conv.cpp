// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <algorithm>

#include "runtime/kernels/conv/conv.h"
#include "runtime/ops/common/in_float.h"
#include "runtime/kernels/gemm/narrow_product.h"
#include "runtime/program/quantization.h"
#include "runtime/xnnpack/subgraph_builder.h"
#include "runtime/ops/common/common.h"

namespace executorch::backends::et_xnnpack {
namespace {

using Use = SubgraphBuilder::Use;

// Both ops: x [N, H, W, groups * IC], weight [groups * OC, KH, KW, IC], bias [groups * OC]?
template <typename Attributes>
Status check_conv(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  ETX_CHECK(
      !attributes.dynamic_quantization() || (node.has_input(1) && node.input(1).quantization != nullptr),
      InvalidProgram,
      "rounds images for a weight that is not quantized");
  ETX_RETURN_IF_ERROR(node.check_operands(2, 1));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_CHECK(
      attributes.stride() != nullptr && attributes.padding() != nullptr && attributes.dilation() != nullptr,
      InvalidProgram,
      "has no stride, padding or dilation");
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 4));
  ETX_RETURN_IF_ERROR(check_rank(node, 1, 4));
  const Shape& x = node.input(0).shape;
  const Shape& weight = node.input(1).shape;
  const size_t groups = attributes.groups();
  ETX_CHECK(
      groups != 0 && weight.numel() != 0 && weight[0] % groups == 0 && x[3] % groups == 0 && x[3] / groups == weight[3],
      InvalidProgram,
      "input %s, weight %s and %zu groups do not match",
      x.to_string().c_str(),
      weight.to_string().c_str(),
      groups);
  ETX_CHECK(
      weight[1] <= UINT32_MAX && weight[2] <= UINT32_MAX,
      InvalidProgram,
      "weight %s has too large a window",
      weight.to_string().c_str());
  return check_bias(node, 2, weight[0]);
}

// REQUIRES: check_conv passed
template <typename Attributes>
Window window_height(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  return {
      static_cast<uint32_t>(node.input(1).shape[1]),
      attributes.stride()->height(),
      attributes.dilation()->height(),
      attributes.padding()->top(),
      attributes.padding()->bottom()};
}

template <typename Attributes>
Window window_width(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  return {
      static_cast<uint32_t>(node.input(1).shape[2]),
      attributes.stride()->width(),
      attributes.dilation()->width(),
      attributes.padding()->left(),
      attributes.padding()->right()};
}

// XNNPACK packs weights when it creates the operator, and counts channels in 32 bits.
bool weights_fit_xnnpack(const NodeContext& node) {
  constexpr size_t kMaxChannels = 1 << 24;
  return node.is_constant(1) && (!node.has_input(2) || node.is_constant(2)) && node.input(0).shape[3] <= kMaxChannels &&
      node.input(1).shape[0] <= kMaxChannels;
}

// Whether our kernels multiply with the weight as the program has it, of 16 or 8 bits, which XNNPACK would
// widen to 32 bits.
template <typename Attributes>
bool keeps_weight(const NodeContext& node) {
  const TensorType& weight = node.input(1);
  if (!is_narrow(weight) || !weights_fit_xnnpack(node) ||
      !fits_xnnpack(window_height<Attributes>(node), window_width<Attributes>(node))) {
    return false;
  }
  const bool depthwise = std::is_same_v<Attributes, schema::Conv2d> && is_depthwise(node);
  return weight.quantization != nullptr || depthwise ||
      weight.shape.numel() / node.attributes<Attributes>().groups() >= kMinKeptWeights;
}

std::unique_ptr<Kernel> make_conv2d_keeping_weight(const NodeContext& node) {
  if (!keeps_weight<schema::Conv2d>(node)) {
    return nullptr;
  }
  return is_depthwise(node) ? make_narrow_depthwise(node) : make_narrow_conv2d(node);
}

std::unique_ptr<Kernel> make_conv_transpose2d_keeping_weight(const NodeContext& node) {
  return keeps_weight<schema::ConvTranspose2d>(node) ? make_narrow_conv_transpose2d(node) : nullptr;
}

// The kernel that keeps the weight as it is, else the one that wants Float32.
template <
    std::unique_ptr<Kernel> (*kKeeping)(const NodeContext&),
    std::unique_ptr<Kernel> (*kFloat)(const NodeContext&)>
std::unique_ptr<Kernel> make_either(const NodeContext& node) {
  std::unique_ptr<Kernel> kernel = kKeeping(node);
  return kernel != nullptr ? std::move(kernel) : kFloat(node);
}

template <std::unique_ptr<Kernel> (*kKeeping)(const NodeContext&)>
std::unique_ptr<Kernel> make_quantized(const NodeContext& node) {
  return make_in_float_but_weight(kKeeping, node);
}

struct ConvOperands {
  uint32_t x;
  uint32_t weight;
  uint32_t bias;
  uint32_t y;
};

StatusOr<ConvOperands> operands(const NodeContext& node, SubgraphBuilder& subgraph, bool dynamic_quantization) {
  ConvOperands result{};
  ETX_ASSIGN_OR_RETURN(result.x, subgraph.input(0));
  if (dynamic_quantization) {
    ETX_ASSIGN_OR_RETURN(result.x, subgraph.rounded(result.x, node.input(0).shape, /*axes=*/3));
  }
  ETX_ASSIGN_OR_RETURN(result.weight, subgraph.input(1, Use::Packed));
  ETX_ASSIGN_OR_RETURN(result.bias, subgraph.input(2, Use::Packed));
  ETX_ASSIGN_OR_RETURN(result.y, subgraph.output());
  return result;
}

Status infer_conv2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_conv<schema::Conv2d>(node));
  const Window height = window_height<schema::Conv2d>(node);
  const Window width = window_width<schema::Conv2d>(node);
  ETX_RETURN_IF_ERROR(check_window(height));
  ETX_RETURN_IF_ERROR(check_window(width));
  const Shape& x = node.input(0).shape;
  Shape y{x[0], 0, 0, node.input(1).shape[0]};
  ETX_ASSIGN_OR_RETURN(y[1], count_positions(height, x[1]));
  ETX_ASSIGN_OR_RETURN(y[2], count_positions(width, x[2]));
  ETX_RETURN_IF_ERROR(check_window_table(y, height, width));
  return set_output(outputs, DType::Float32, y);
}

// XNNPACK keeps the sums of a pixel in memory when a depthwise window has more taps than this.
constexpr uint32_t kMaxDepthwiseTaps = 25;

bool is_large_depthwise(const NodeContext& node) {
  const Shape& weight = node.input(1).shape;
  return is_depthwise(node) && weight[1] * weight[2] > kMaxDepthwiseTaps;
}

bool conv2d_in_xnnpack(const NodeContext& node) {
  return !is_large_depthwise(node) && fits_xnnpack(node) && weights_fit_xnnpack(node) &&
      fits_xnnpack(window_height<schema::Conv2d>(node), window_width<schema::Conv2d>(node));
}

// With one channel in each group this becomes XNNPACK's depthwise convolution by itself.
Status define_conv2d(const NodeContext& node, SubgraphBuilder& subgraph) {
  const auto& attributes = node.attributes<schema::Conv2d>();
  const Window height = window_height<schema::Conv2d>(node);
  const Window width = window_width<schema::Conv2d>(node);
  const Shape& weight = node.input(1).shape;
  ETX_ASSIGN_OR_RETURN(const ConvOperands ids, operands(node, subgraph, attributes.dynamic_quantization()));
  return check_xnn(
      xnn_define_convolution_2d(
          subgraph.get(),
          height.before,
          width.after,
          height.after,
          width.before,
          height.kernel,
          width.kernel,
          height.stride,
          width.stride,
          height.dilation,
          width.dilation,
          attributes.groups(),
          weight[3],
          weight[0] / attributes.groups(),
          clamp_min(attributes.clamp()),
          clamp_max(attributes.clamp()),
          ids.x,
          ids.weight,
          ids.bias,
          ids.y,
          0),
      "xnn_define_convolution_2d");
}

template <typename Attributes, bool (*kRule)(const NodeContext&)>
bool float_in_xnnpack(const NodeContext& node) {
  return !keeps_weight<Attributes>(node) && kRule(node);
}

// Whether XNNPACK has images that it rounds itself for this weight. It has none for depthwise windows.
bool is_rounded_in_xnnpack(const NodeContext& node, uint32_t groups) {
  const TensorType& weight = node.input(1);
  const bool is_float = node.input(0).quantization == nullptr && node.output().quantization == nullptr &&
      (!node.has_input(2) || node.input(2).quantization == nullptr);
  if (!is_float || weight.quantization == nullptr || weight.stored != DType::Int8 ||
      (groups > 1 && weight.shape[3] == 1)) {
    return false;
  }
  const auto& zero_points = *weight.quantization->zero_point();
  return zero_points.size() == weight.shape[0] && zero_points.size() > 1 && weight.quantization->axis() == 0 &&
      std::all_of(zero_points.begin(), zero_points.end(), [](int32_t zero_point) { return zero_point == 0; });
}

template <typename Attributes, bool (*kRule)(const NodeContext&)>
bool quantized_in_xnnpack(const NodeContext& node) {
  if (const auto& attributes = node.attributes<Attributes>(); attributes.dynamic_quantization()) {
    return is_rounded_in_xnnpack(node, attributes.groups()) && kRule(node);
  }
  return is_product_in_xnnpack(node, node.attributes<Attributes>().clamp()) && kRule(node);
}

// The size of an axis that count_positions would map back to `size`. Only where there are no images may it, or the
// result, be 0.
StatusOr<size_t> transposed_size(const Window& window, uint32_t output_padding, size_t size, bool has_images) {
  ETX_CHECK(size != 0 || !has_images, InvalidProgram, "the image is empty");
  ETX_CHECK(
      output_padding < std::max(window.stride, window.dilation),
      InvalidProgram,
      "output padding %u is not below stride %u or dilation %u",
      output_padding,
      window.stride,
      window.dilation);
  uint64_t full = 0;
  const bool overflow = __builtin_mul_overflow(uint64_t{size}, uint64_t{window.stride}, &full) ||
      __builtin_add_overflow(full, window.span(), &full) || __builtin_add_overflow(full, output_padding, &full);
  const uint64_t cut_off = uint64_t{window.stride} + window.before + window.after;
  ETX_CHECK(
      !overflow && full >= cut_off + (has_images ? 1 : 0),
      InvalidProgram,
      "nothing of the output is left, or far too much");
  return static_cast<size_t>(full - cut_off);
}

Status infer_conv_transpose2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_conv<schema::ConvTranspose2d>(node));
  const schema::Size2D* output_padding = node.attributes<schema::ConvTranspose2d>().output_padding();
  ETX_CHECK(output_padding != nullptr, InvalidProgram, "has no output padding");
  const Window height = window_height<schema::ConvTranspose2d>(node);
  const Window width = window_width<schema::ConvTranspose2d>(node);
  ETX_RETURN_IF_ERROR(check_window(height));
  ETX_RETURN_IF_ERROR(check_window(width));
  const Shape& x = node.input(0).shape;
  Shape y{x[0], 0, 0, node.input(1).shape[0]};
  ETX_ASSIGN_OR_RETURN(y[1], transposed_size(height, output_padding->height(), x[1], x[0] != 0));
  ETX_ASSIGN_OR_RETURN(y[2], transposed_size(width, output_padding->width(), x[2], x[0] != 0));
  ETX_RETURN_IF_ERROR(check_window_table(y, height, width));
  return set_output(outputs, DType::Float32, y);
}

bool conv_transpose2d_in_xnnpack(const NodeContext& node) {
  const schema::Size2D& output_padding = *node.attributes<schema::ConvTranspose2d>().output_padding();
  const Window height = window_height<schema::ConvTranspose2d>(node);
  const Window width = window_width<schema::ConvTranspose2d>(node);
  return fits_xnnpack(node) && weights_fit_xnnpack(node) && fits_xnnpack(height, width) &&
      output_padding.height() < height.stride && output_padding.width() < width.stride;
}

Status define_conv_transpose2d(const NodeContext& node, SubgraphBuilder& subgraph) {
  const auto& attributes = node.attributes<schema::ConvTranspose2d>();
  const Window height = window_height<schema::ConvTranspose2d>(node);
  const Window width = window_width<schema::ConvTranspose2d>(node);
  const Shape& weight = node.input(1).shape;
  ETX_ASSIGN_OR_RETURN(const ConvOperands ids, operands(node, subgraph, attributes.dynamic_quantization()));
  return check_xnn(
      xnn_define_deconvolution_2d(
          subgraph.get(),
          height.before,
          width.after,
          height.after,
          width.before,
          attributes.output_padding()->height(),
          attributes.output_padding()->width(),
          height.kernel,
          width.kernel,
          height.stride,
          width.stride,
          height.dilation,
          width.dilation,
          attributes.groups(),
          weight[3],
          weight[0] / attributes.groups(),
          clamp_min(attributes.clamp()),
          clamp_max(attributes.clamp()),
          ids.x,
          ids.weight,
          ids.bias,
          ids.y,
          0),
      "xnn_define_deconvolution_2d");
}

} // namespace

const OpImpl kConv2dOp{
    infer_conv2d,
    float_in_xnnpack<schema::Conv2d, conv2d_in_xnnpack>,
    define_conv2d,
    make_either<make_conv2d_keeping_weight, make_conv2d>,
    false,
    false,
    nullptr,
    quantized_in_xnnpack<schema::Conv2d, conv2d_in_xnnpack>,
    make_quantized<make_conv2d_keeping_weight>};
const OpImpl kConvTranspose2dOp{
    infer_conv_transpose2d,
    float_in_xnnpack<schema::ConvTranspose2d, conv_transpose2d_in_xnnpack>,
    define_conv_transpose2d,
    make_either<make_conv_transpose2d_keeping_weight, make_conv_transpose2d>,
    false,
    false,
    nullptr,
    quantized_in_xnnpack<schema::ConvTranspose2d, conv_transpose2d_in_xnnpack>,
    make_quantized<make_conv_transpose2d_keeping_weight>};

} // namespace executorch::backends::et_xnnpack
