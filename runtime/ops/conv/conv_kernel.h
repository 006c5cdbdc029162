// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/conv/bfloat16_conv.h"
#include "runtime/kernels/conv/col2im_conv.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/conv/int8_block_conv.h"
#include "runtime/kernels/conv/int8_depthwise_conv.h"
#include "runtime/kernels/conv/int8_grouped_conv.h"
#include "runtime/kernels/conv/int8_pixel_conv.h"
#include "runtime/kernels/conv/packed_conv.h"
#include "runtime/kernels/conv/window_conv.h"
#include "runtime/kernels/conv/winograd.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
ConvParameters conv_transpose2d_parameters(const NodeContext& node);
ConvParameters low_precision_conv_transpose2d_parameters(const NodeContext& node);
ConvParameters conv2d_parameters(const NodeContext& node);
ConvParameters conv2d_parameters_by_tap(const NodeContext& node);
ConvParameters low_precision_conv2d_parameters(const NodeContext& node);
ConvParameters bfloat16_conv2d_parameters(const NodeContext& node);
ConvParameters bfloat16_conv_transpose2d_parameters(const NodeContext& node);
Int8ConvParameters int8_conv2d_parameters(const NodeContext& node);

// Whether a Conv2d has one channel in and out in each group.
bool is_depthwise(const NodeContext& node);
// One channel in, several out.
bool is_multiplied_depthwise(const NodeContext& node);

// With a weight of Float32.
inline constexpr auto make_conv2d = make_kernel_of<Conv, conv2d_parameters>;
inline constexpr auto make_runtime_conv2d = make_kernel_of<RuntimeConv, conv2d_parameters>;
// REQUIRES: is_depthwise or is_multiplied_depthwise; the weight is a constant
inline constexpr auto make_depthwise_conv2d = make_kernel_of<DepthwiseConv, conv2d_parameters>;
inline constexpr auto make_conv_transpose2d = make_kernel_of<Conv, conv_transpose2d_parameters>;

// REQUIRES: the weight is a constant; no 32-bit sum or product of window sizes overflows
inline constexpr auto make_conv2d_by_tap = make_kernel_of<PackedConv, conv2d_parameters_by_tap>;
inline constexpr auto make_packed_conv2d = make_kernel_of<PackedConv, conv2d_parameters>;
inline constexpr auto make_packed_conv_transpose2d = make_kernel_of<PackedConv, conv_transpose2d_parameters>;

// REQUIRES: WindowConv::has() the parameters; the weight is a constant
inline constexpr auto make_window_conv2d = make_kernel_of<WindowConv, conv2d_parameters>;

// REQUIRES: Col2ImConv::has() the parameters; the weight is a constant
inline constexpr auto make_col2im_conv2d = make_kernel_of<Col2ImConv, conv2d_parameters>;
inline constexpr auto make_col2im_conv_transpose2d = make_kernel_of<Col2ImConv, conv_transpose2d_parameters>;

// REQUIRES: GroupedConv::has() the parameters
inline constexpr auto make_grouped_conv2d = make_kernel_of<GroupedConv, conv2d_parameters>;

// In tiles of kTile x kTile. REQUIRES: choose_winograd_tile() takes the node's parameters
template <size_t kTile>
WinogradParameters winograd_parameters(const NodeContext& node) {
  return {conv2d_parameters(node), kTile};
}
template <size_t kTile>
inline constexpr auto make_winograd_conv2d = make_kernel_of<WinogradConv, winograd_parameters<kTile>>;

// With a weight that stays in the 16 or 8 bits in which the program has it.
// REQUIRES: is_low_precision(weight), a constant; no 32-bit sum or product of window sizes overflows
inline constexpr auto make_low_precision_conv2d = make_kernel_of<PackedConv, low_precision_conv2d_parameters>;
inline constexpr auto make_low_precision_depthwise_conv2d =
    make_kernel_of<DepthwiseConv, low_precision_conv2d_parameters>; // REQUIRES: is_depthwise
inline constexpr auto make_low_precision_conv_transpose2d =
    make_kernel_of<PackedConv, low_precision_conv_transpose2d_parameters>;

// The same with a weight of any float type, which is rounded to BFloat16 like the image. REQUIRES: is_in_bfloat16()
inline constexpr auto make_bfloat16_conv2d = make_kernel_of<BFloat16Conv, bfloat16_conv2d_parameters>; // one group
inline constexpr auto make_gathering_bfloat16_conv2d = make_kernel_of<PackedConv, bfloat16_conv2d_parameters>;
inline constexpr auto make_bfloat16_conv_transpose2d = make_kernel_of<PackedConv, bfloat16_conv_transpose2d_parameters>;

// Between integers of 8 bits. REQUIRES: integer_product_limit() is null and the dilation is 1; is_depthwise and
// Int8DepthwiseConv::has() the window, or Int8GroupedConv::has() the parameters, or there is one group, and
// Int8PixelConv::has() the parameters
inline constexpr auto make_int8_block_conv2d = make_kernel_of<Int8BlockConv, int8_conv2d_parameters>;
inline constexpr auto make_int8_pixel_conv2d = make_kernel_of<Int8PixelConv, int8_conv2d_parameters>;
inline constexpr auto make_int8_depthwise_conv2d = make_kernel_of<Int8DepthwiseConv, int8_conv2d_parameters>;
inline constexpr auto make_int8_grouped_conv2d = make_kernel_of<Int8GroupedConv, int8_conv2d_parameters>;

} // namespace executorch::backends::et_xnnpack
