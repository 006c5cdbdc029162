// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pool_kernel.h"

#include <algorithm>
#include <cstdint>

#include "runtime/program/quantization.h"
#include "xnnpack_pool.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

const schema::Padding2D kNoPadding(0, 0, 0, 0);
constexpr Limit kFixedPadding = "XNNPACK's padding does not depend on the size of the image, as ceil_mode's does.";

Window window_height(const schema::AvgPool2d& pool) {
  return {
      pool.kernel()->height(),
      pool.stride()->height(),
      1,
      pool.padding()->top(),
      pool.padding()->bottom(),
      pool.ceil_mode()};
}

Window window_width(const schema::AvgPool2d& pool) {
  return {
      pool.kernel()->width(),
      pool.stride()->width(),
      1,
      pool.padding()->left(),
      pool.padding()->right(),
      pool.ceil_mode()};
}

Window window_height(const schema::MaxPool2d& pool) {
  return {
      pool.kernel()->height(),
      pool.stride()->height(),
      pool.dilation()->height(),
      pool.padding()->top(),
      pool.padding()->bottom(),
      pool.ceil_mode()};
}

Window window_width(const schema::MaxPool2d& pool) {
  return {
      pool.kernel()->width(),
      pool.stride()->width(),
      pool.dilation()->width(),
      pool.padding()->left(),
      pool.padding()->right(),
      pool.ceil_mode()};
}

// No position may lie in the padding alone.
Status check_pool_window(const Window& window) {
  ETX_RETURN_IF_ERROR(check_window(window));
  ETX_CHECK(
      window.before < window.span() && window.after < window.span(),
      InvalidProgram,
      "a padding of %u and %u is as large as the window",
      window.before,
      window.after);
  return {};
}

Status check_image(const NodeContext& node) {
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 4));
  const Shape& x = node.input(0).shape;
  ETX_CHECK(x[1] != 0 && x[2] != 0, InvalidProgram, "the image %s is empty", x.to_string().c_str());
  return {};
}

Status check_pool_operands(const NodeContext& node) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  ETX_RETURN_IF_ERROR(node.check_float());
  return check_image(node);
}

Status set_pooled(const NodeContext& node, const Window& height, const Window& width, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_pool_window(height));
  ETX_RETURN_IF_ERROR(check_pool_window(width));
  Shape y = node.input(0).shape;
  ETX_ASSIGN_OR_RETURN(y[1], count_positions(height, y[1]));
  ETX_ASSIGN_OR_RETURN(y[2], count_positions(width, y[2]));
  ETX_RETURN_IF_ERROR(check_window_table(y, height, width));
  return set_output(outputs, DType::Float32, y);
}

Status infer_avg_pool2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_pool_operands(node));
  const auto& pool = node.attributes<schema::AvgPool2d>();
  ETX_CHECK(
      pool.kernel() != nullptr && pool.stride() != nullptr && pool.padding() != nullptr &&
          pool.padding_counted() != nullptr,
      InvalidProgram,
      "it has no kernel, stride, padding or counted padding");
  const schema::Padding2D& all = *pool.padding();
  const schema::Padding2D& counted = *pool.padding_counted();
  ETX_CHECK(
      counted.top() <= all.top() && counted.right() <= all.right() && counted.bottom() <= all.bottom() &&
          counted.left() <= all.left(),
      InvalidProgram,
      "it counts more padding than there is");
  return set_pooled(node, window_height(pool), window_width(pool), outputs);
}

bool equal(const schema::Padding2D& a, const schema::Padding2D& b) {
  return a.top() == b.top() && a.right() == b.right() && a.bottom() == b.bottom() && a.left() == b.left();
}

// XNNPACK divides by the elements inside the image, which padding of our own becomes
// part of.
Limit avg_pool2d_limit(const NodeContext& node) {
  const auto& pool = node.attributes<schema::AvgPool2d>();
  const schema::Padding2D& counted = *pool.padding_counted();
  if (node.is_quantized()) {
    return "XNNPACK has no average pooling of Int8.";
  }
  if (!equal(counted, kNoPadding) && !equal(counted, *pool.padding())) {
    return "XNNPACK counts all of the padding, or nothing of it.";
  }
  if (pool.kernel()->height() == 1 && pool.kernel()->width() == 1) {
    return "XNNPACK takes windows of more than one element.";
  }
  if (pool.ceil_mode()) {
    return kFixedPadding;
  }
  if (pool.divisor_override() != 0) {
    return "XNNPACK divides by the number of elements only.";
  }
  if (const Limit limit = operand_limit(node); limit != nullptr) {
    return limit;
  }
  const Limit limit = window_limit(window_height(pool), window_width(pool));
  return limit != nullptr ? limit : nan_limit(Limited::AvgPool, /*float16=*/false, 0);
}

Status infer_max_pool2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_pool_operands(node));
  const auto& pool = node.attributes<schema::MaxPool2d>();
  ETX_CHECK(
      pool.kernel() != nullptr && pool.stride() != nullptr && pool.padding() != nullptr && pool.dilation() != nullptr,
      InvalidProgram,
      "it has no kernel, stride, padding or dilation");
  return set_pooled(node, window_height(pool), window_width(pool), outputs);
}

// XNNPACK replaces pixels in the padding by others of the same window, but finds wrong ones if the window has gaps.
bool has_gaps_and_padding(const Window& height, const Window& width) {
  return std::max(height.dilation, width.dilation) > 1 &&
      std::max({height.before, height.after, width.before, width.after}) > 0;
}

Limit max_pool2d_limit(const NodeContext& node) {
  const auto& pool = node.attributes<schema::MaxPool2d>();
  const Window height = window_height(pool);
  const Window width = window_width(pool);
  if (!node.is_quantized()) {
    return "XNNPACK's maximum drops NaN, which integers do not have.";
  }
  if (pool.ceil_mode()) {
    return kFixedPadding;
  }
  if (!is_per_tensor(node.input(0), DType::Int8)) {
    return "XNNPACK gets no integers but int8 with one scale.";
  }
  if (!has_one_quantization(node)) {
    return "XNNPACK takes the maximum of integers where input and result have the same scale and zero point.";
  }
  if (has_gaps_and_padding(height, width)) {
    return "XNNPACK takes wrong elements for the padding of windows with dilation.";
  }
  if (uint64_t{height.kernel} * width.kernel <= 1 || height.stride > height.kernel || width.stride > width.kernel) {
    return "XNNPACK takes windows of more than one element, and strides that leave none out.";
  }
  const Limit limit = operand_limit(node);
  return limit != nullptr ? limit : window_limit(height, width);
}

Status infer_adaptive_pool2d(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_pool_operands(node));
  const auto& pool = node.attributes<schema::AdaptivePool2d>();
  const Shape& x = node.input(0).shape;
  if (pool.output() != nullptr) {
    return set_output(outputs, DType::Float32, {x[0], pool.output()->height(), pool.output()->width(), x[3]});
  }
  ETX_ASSIGN_OR_RETURN(const Shape size, node.sizes().resolve(pool.shape()));
  ETX_CHECK(size.rank == 2, InvalidProgram, "it has no output size");
  return set_output(outputs, DType::Float32, {x[0], size[0], size[1], x[3]});
}

// To a single pixel it is a mean.
Limit adaptive_pool2d_limit(const NodeContext& node) {
  const auto& pool = node.attributes<schema::AdaptivePool2d>();
  if (node.is_quantized()) {
    return "XNNPACK has no adaptive pooling of integers.";
  }
  const bool is_pixel = pool.output() != nullptr && pool.output()->height() == 1 && pool.output()->width() == 1;
  if (pool.kind() != schema::AdaptivePoolKind::Average || !is_pixel) {
    return "XNNPACK has adaptive pooling as the mean of whole images only.";
  }
  if (const Limit limit = operand_limit(node); limit != nullptr) {
    return limit;
  }
  return node.input(0).shape.numel(1, 3) <= INT32_MAX ? nullptr : "XNNPACK counts the elements of a mean in 31 bits.";
}

uint32_t entry(const flatbuffers::Vector<uint32_t>* sizes, uint32_t axis, uint32_t missing) {
  return sizes == nullptr ? missing : sizes->Get(axis);
}

Status infer_max_pool_indices(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1, 0, 2));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_rank(node, 0, 5));
  const auto& pool = node.attributes<schema::MaxPoolIndices>();
  for (const auto* sizes :
       {pool.kernel(), pool.stride(), pool.before(), pool.after(), pool.dilation(), pool.output()}) {
    ETX_CHECK(
        sizes == nullptr || sizes->size() == 3, InvalidProgram, "it has sizes for a number of axes other than three");
  }
  Shape y = node.input(0).shape;
  ETX_CHECK(y.numel(1, 4) != 0, InvalidProgram, "the image %s is empty", y.to_string().c_str());
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (pool.output() != nullptr) {
      y[axis + 1] = pool.output()->Get(axis);
      continue;
    }
    const Window window{
        entry(pool.kernel(), axis, 1),
        entry(pool.stride(), axis, 1),
        entry(pool.dilation(), axis, 1),
        entry(pool.before(), axis, 0),
        entry(pool.after(), axis, 0),
        pool.ceil_mode()};
    ETX_RETURN_IF_ERROR(check_pool_window(window));
    ETX_ASSIGN_OR_RETURN(y[axis + 1], count_positions(window, y[axis + 1]));
  }
  ETX_RETURN_IF_ERROR(set_output(outputs, DType::Int64, y, 1));
  return set_output(outputs, DType::Float32, y);
}

Choice choose_avg_pool2d(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  return choose_xnnpack_or_kernel(
      node,
      options,
      avg_pool2d_limit(node),
      make_xnnpack_avg_pool2d,
      make_avg_pool2d,
      options.float16 ? nan_limit(Limited::AvgPool, /*float16=*/true, 0) : nullptr);
}

Choice choose_max_pool2d(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  const MakeXnnpackKernel xnnpack = [](const NodeContext& quantized, bool) {
    return make_xnnpack_max_pool2d(quantized);
  };
  return choose_xnnpack_or_kernel(node, options, max_pool2d_limit(node), xnnpack, make_max_pool2d);
}

Choice choose_adaptive_pool2d(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  return choose_xnnpack_or_kernel(
      node, options, adaptive_pool2d_limit(node), make_xnnpack_adaptive_pool2d, make_adaptive_pool2d);
}

} // namespace

const OpImpl kAvgPool2dOp{infer_avg_pool2d, choose_avg_pool2d};
const OpImpl kMaxPool2dOp{infer_max_pool2d, choose_max_pool2d};
const OpImpl kAdaptivePool2dOp{infer_adaptive_pool2d, choose_adaptive_pool2d};
const OpImpl kMaxPoolIndicesOp{infer_max_pool_indices, choose_only_kernel<make_max_pool_indices>};

} // namespace executorch::backends::et_xnnpack
