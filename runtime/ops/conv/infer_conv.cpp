// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "infer_conv.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack {
namespace {

// What both have in common.
template <typename Attributes>
Status check_conv(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  ETX_CHECK(
      !attributes.dynamic_quantization() || (node.has_input(1) && node.input(1).quantization != nullptr),
      InvalidProgram,
      "dynamic quantization needs a weight that is quantized");
  ETX_RETURN_IF_ERROR(node.check_operands(2, 1));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_CHECK(
      attributes.stride() != nullptr && attributes.padding() != nullptr && attributes.dilation() != nullptr,
      InvalidProgram,
      "it has no stride, padding or dilation");
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

// The inverse of count_positions(): the size of an output axis of a transposed convolution whose input has `size`.
// Neither may be 0, unless there are no images.
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
      "nothing of the output is left when the padding is cut off, or there is far too much of it");
  return static_cast<size_t>(full - cut_off);
}

} // namespace

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

Status infer_conv_transpose2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_conv<schema::ConvTranspose2d>(node));
  const schema::Size2D* output_padding = node.attributes<schema::ConvTranspose2d>().output_padding();
  ETX_CHECK(output_padding != nullptr, InvalidProgram, "it has no output padding");
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

} // namespace executorch::backends::et_xnnpack
