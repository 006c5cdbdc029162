// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Products of rows, or images, that XNNPACK rounds to 8 bits at run time. Since 2025 it has its fast microkernels for x86
// for numbers without sign (qdu8) and leaves slow ones for those with sign (qd8). It takes the better of the two by
// itself in its subgraphs only; its public header does not have the operators, which the library exports.

#include <cstddef>
#include <cstdint>

#include <xnnpack.h>

#ifdef XNN_FLAG_NO_BROADCAST // since 2025

// As XNNPACK declares them for itself (src/xnnpack/internal.h), which test/xnnpack compares.
extern "C" {
xnn_status xnn_create_convert_nc_f32_qdu8(uint32_t flags, xnn_operator_t* operator_out);
xnn_status xnn_reshape_convert_nc_f32_qdu8(
    xnn_operator_t op, size_t rows, size_t columns, size_t x_stride, size_t y_stride, pthreadpool_t pool);
xnn_status xnn_setup_convert_nc_f32_qdu8(
    xnn_operator_t op, const float* x, uint8_t* y, float* row_sum, xnn_quantization_params* parameters);

xnn_status xnn_create_fully_connected_nc_qdu8_f32_qc8w(
    size_t depth,
    size_t columns,
    size_t x_stride,
    size_t y_stride,
    const float* scale,
    const int8_t* weight,
    const float* bias,
    float min,
    float max,
    uint32_t flags,
    xnn_weights_cache_t cache,
    xnn_operator_t* operator_out);
xnn_status xnn_reshape_fully_connected_nc_qdu8_f32_qc8w(
    xnn_operator_t op, size_t rows, size_t* workspace_bytes, pthreadpool_t pool);
xnn_status xnn_setup_fully_connected_nc_qdu8_f32_qc8w(
    xnn_operator_t op, const int8_t* x, float* y, void* workspace, const xnn_quantization_params* parameters);

xnn_status xnn_create_fully_connected_nc_qdu8_f32_qc4w(
    size_t depth,
    size_t columns,
    size_t x_stride,
    size_t y_stride,
    uint8_t weight_zero_point,
    const float* scale,
    const void* weight,
    const float* bias,
    float min,
    float max,
    uint32_t flags,
    xnn_weights_cache_t cache,
    xnn_operator_t* operator_out);
xnn_status xnn_reshape_fully_connected_nc_qdu8_f32_qc4w(
    xnn_operator_t op, size_t rows, size_t* workspace_bytes, pthreadpool_t pool);
xnn_status xnn_setup_fully_connected_nc_qdu8_f32_qc4w(
    xnn_operator_t op, const uint8_t* x, float* y, void* workspace, const xnn_quantization_params* parameters);

xnn_status xnn_create_fully_connected_nc_qdu8_f32_qb4w(
    size_t depth,
    size_t columns,
    size_t x_stride,
    size_t y_stride,
    size_t group,
    uint8_t weight_zero_point,
    const uint16_t* scale,
    const void* weight,
    const float* bias,
    float min,
    float max,
    uint32_t flags,
    xnn_weights_cache_t cache,
    xnn_operator_t* operator_out);
xnn_status xnn_reshape_fully_connected_nc_qdu8_f32_qb4w(
    xnn_operator_t op, size_t rows, size_t* workspace_bytes, pthreadpool_t pool);
xnn_status xnn_setup_fully_connected_nc_qdu8_f32_qb4w(
    xnn_operator_t op, const int8_t* x, float* y, void* workspace, const xnn_quantization_params* parameters);

xnn_status xnn_create_convolution2d_nhwc_qdu8_f32_qc8w(
    uint32_t top,
    uint32_t right,
    uint32_t bottom,
    uint32_t left,
    uint32_t kernel_height,
    uint32_t kernel_width,
    uint32_t stride_height,
    uint32_t stride_width,
    uint32_t dilation_height,
    uint32_t dilation_width,
    uint32_t groups,
    size_t group_input_channels,
    size_t group_output_channels,
    size_t x_stride,
    size_t y_stride,
    const float* scale,
    const int8_t* weight,
    const float* bias,
    float min,
    float max,
    uint32_t flags,
    xnn_weights_cache_t cache,
    xnn_operator_t* operator_out);
xnn_status xnn_reshape_convolution2d_nhwc_qdu8_f32_qc8w(
    xnn_operator_t op,
    size_t images,
    size_t height,
    size_t width,
    size_t* workspace_bytes,
    size_t* y_height,
    size_t* y_width,
    pthreadpool_t pool);
xnn_status xnn_setup_convolution2d_nhwc_qdu8_f32_qc8w(
    xnn_operator_t op, void* workspace, const uint8_t* x, float* y, const xnn_quantization_params* parameters);

xnn_status xnn_create_deconvolution2d_nhwc_qdu8_f32_qc8w(
    uint32_t top,
    uint32_t right,
    uint32_t bottom,
    uint32_t left,
    uint32_t kernel_height,
    uint32_t kernel_width,
    uint32_t stride_height,
    uint32_t stride_width,
    uint32_t dilation_height,
    uint32_t dilation_width,
    uint32_t groups,
    size_t group_input_channels,
    size_t group_output_channels,
    size_t x_stride,
    size_t y_stride,
    const float* scale,
    const int8_t* weight,
    const float* bias,
    float min,
    float max,
    uint32_t flags,
    xnn_weights_cache_t cache,
    xnn_operator_t* operator_out);
xnn_status xnn_reshape_deconvolution2d_nhwc_qdu8_f32_qc8w(
    xnn_operator_t op,
    size_t images,
    size_t height,
    size_t width,
    uint32_t more_rows,
    uint32_t more_columns,
    size_t* y_height,
    size_t* y_width,
    pthreadpool_t pool);
xnn_status xnn_setup_deconvolution2d_nhwc_qdu8_f32_qc8w(
    xnn_operator_t op, const int8_t* x, float* y, const xnn_quantization_params* parameters);
} // extern "C"

namespace executorch::backends::et_xnnpack {

inline constexpr bool kHasUnsignedRows = true;

} // namespace executorch::backends::et_xnnpack

#else

namespace executorch::backends::et_xnnpack {

inline constexpr bool kHasUnsignedRows = false;

// Only names: nobody calls these.
inline constexpr auto xnn_create_convert_nc_f32_qdu8 = xnn_create_convert_nc_f32_qd8;
inline constexpr auto xnn_reshape_convert_nc_f32_qdu8 = xnn_reshape_convert_nc_f32_qd8;
inline constexpr auto xnn_setup_convert_nc_f32_qdu8 = xnn_setup_convert_nc_f32_qd8;
inline constexpr auto xnn_create_fully_connected_nc_qdu8_f32_qc8w = xnn_create_fully_connected_nc_qd8_f32_qc8w;
inline constexpr auto xnn_reshape_fully_connected_nc_qdu8_f32_qc8w = xnn_reshape_fully_connected_nc_qd8_f32_qc8w;
inline constexpr auto xnn_setup_fully_connected_nc_qdu8_f32_qc8w = xnn_setup_fully_connected_nc_qd8_f32_qc8w;
inline constexpr auto xnn_create_fully_connected_nc_qdu8_f32_qc4w = xnn_create_fully_connected_nc_qd8_f32_qc4w;
inline constexpr auto xnn_reshape_fully_connected_nc_qdu8_f32_qc4w = xnn_reshape_fully_connected_nc_qd8_f32_qc4w;
inline constexpr auto xnn_setup_fully_connected_nc_qdu8_f32_qc4w = xnn_setup_fully_connected_nc_qd8_f32_qc4w;
inline constexpr auto xnn_create_fully_connected_nc_qdu8_f32_qb4w = xnn_create_fully_connected_nc_qd8_f32_qb4w;
inline constexpr auto xnn_reshape_fully_connected_nc_qdu8_f32_qb4w = xnn_reshape_fully_connected_nc_qd8_f32_qb4w;
inline constexpr auto xnn_setup_fully_connected_nc_qdu8_f32_qb4w = xnn_setup_fully_connected_nc_qd8_f32_qb4w;
inline constexpr auto xnn_create_convolution2d_nhwc_qdu8_f32_qc8w = xnn_create_convolution2d_nhwc_qd8_f32_qc8w;
inline constexpr auto xnn_reshape_convolution2d_nhwc_qdu8_f32_qc8w = xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w;
inline constexpr auto xnn_setup_convolution2d_nhwc_qdu8_f32_qc8w = xnn_setup_convolution2d_nhwc_qd8_f32_qc8w;
inline constexpr auto xnn_create_deconvolution2d_nhwc_qdu8_f32_qc8w = xnn_create_deconvolution2d_nhwc_qd8_f32_qc8w;
inline constexpr auto xnn_reshape_deconvolution2d_nhwc_qdu8_f32_qc8w = xnn_reshape_deconvolution2d_nhwc_qd8_f32_qc8w;
inline constexpr auto xnn_setup_deconvolution2d_nhwc_qdu8_f32_qc8w = xnn_setup_deconvolution2d_nhwc_qd8_f32_qc8w;

} // namespace executorch::backends::et_xnnpack

#endif

namespace executorch::backends::et_xnnpack {

// What rows are multiplied by.
enum class RoundedProduct {
  Int8, // weights with one scale for each output channel
  Int4,
  Int4InGroups,
  Convolution, // or a transposed one, of Int8
};

// Whether it is faster on this CPU to round rows to numbers without sign. Found out by asking XNNPACK, once.
bool takes_unsigned_rows(RoundedProduct product);

} // namespace executorch::backends::et_xnnpack
