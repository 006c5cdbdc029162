// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Products of rows, or images, that XNNPACK rounds to 8 bits at run time. Since 2025 it has its fast microkernels for x86
// for numbers without sign (qdu8) and leaves slow ones for those with sign (qd8). It takes the better of the two by
// itself in its subgraphs only; its public header does not have the operators, which the library exports.

#include <cstdint>

#include <xnnpack.h>

// Declares a function as XNNPACK does for itself (src/xnnpack/internal.h), with the type of another one. Versions that
// lack it have only the name, which nobody calls.
#ifdef XNN_FLAG_NO_BROADCAST // since 2025
#define ET_XNNPACK_LIKE(other, name) extern "C" decltype(other) name
#else
#define ET_XNNPACK_LIKE(other, name) static constexpr auto name = other
#endif

#ifdef XNN_FLAG_NO_BROADCAST
extern "C" {
xnn_status xnn_setup_convert_nc_f32_qdu8(
    xnn_operator_t op, const float* x, uint8_t* y, float* row_sum, xnn_quantization_params* parameters);
xnn_status xnn_setup_fully_connected_nc_qdu8_f32_qc4w(
    xnn_operator_t op, const uint8_t* x, float* y, void* workspace, const xnn_quantization_params* parameters);
xnn_status xnn_setup_convolution2d_nhwc_qdu8_f32_qc8w(
    xnn_operator_t op, void* workspace, const uint8_t* x, float* y, const xnn_quantization_params* parameters);
}
#else
ET_XNNPACK_LIKE(xnn_setup_convert_nc_f32_qd8, xnn_setup_convert_nc_f32_qdu8);
ET_XNNPACK_LIKE(xnn_setup_fully_connected_nc_qd8_f32_qc4w, xnn_setup_fully_connected_nc_qdu8_f32_qc4w);
ET_XNNPACK_LIKE(xnn_setup_convolution2d_nhwc_qd8_f32_qc8w, xnn_setup_convolution2d_nhwc_qdu8_f32_qc8w);
#endif

ET_XNNPACK_LIKE(xnn_create_convert_nc_f32_qd8, xnn_create_convert_nc_f32_qdu8);
ET_XNNPACK_LIKE(xnn_reshape_convert_nc_f32_qd8, xnn_reshape_convert_nc_f32_qdu8);

ET_XNNPACK_LIKE(xnn_create_fully_connected_nc_qd8_f32_qc8w, xnn_create_fully_connected_nc_qdu8_f32_qc8w);
ET_XNNPACK_LIKE(xnn_reshape_fully_connected_nc_qd8_f32_qc8w, xnn_reshape_fully_connected_nc_qdu8_f32_qc8w);
ET_XNNPACK_LIKE(xnn_setup_fully_connected_nc_qd8_f32_qc8w, xnn_setup_fully_connected_nc_qdu8_f32_qc8w);

ET_XNNPACK_LIKE(xnn_create_fully_connected_nc_qd8_f32_qc4w, xnn_create_fully_connected_nc_qdu8_f32_qc4w);
ET_XNNPACK_LIKE(xnn_reshape_fully_connected_nc_qd8_f32_qc4w, xnn_reshape_fully_connected_nc_qdu8_f32_qc4w);

ET_XNNPACK_LIKE(xnn_create_fully_connected_nc_qd8_f32_qb4w, xnn_create_fully_connected_nc_qdu8_f32_qb4w);
ET_XNNPACK_LIKE(xnn_reshape_fully_connected_nc_qd8_f32_qb4w, xnn_reshape_fully_connected_nc_qdu8_f32_qb4w);
ET_XNNPACK_LIKE(xnn_setup_fully_connected_nc_qd8_f32_qb4w, xnn_setup_fully_connected_nc_qdu8_f32_qb4w);

ET_XNNPACK_LIKE(xnn_create_convolution2d_nhwc_qd8_f32_qc8w, xnn_create_convolution2d_nhwc_qdu8_f32_qc8w);
ET_XNNPACK_LIKE(xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w, xnn_reshape_convolution2d_nhwc_qdu8_f32_qc8w);

ET_XNNPACK_LIKE(xnn_create_deconvolution2d_nhwc_qd8_f32_qc8w, xnn_create_deconvolution2d_nhwc_qdu8_f32_qc8w);
ET_XNNPACK_LIKE(xnn_reshape_deconvolution2d_nhwc_qd8_f32_qc8w, xnn_reshape_deconvolution2d_nhwc_qdu8_f32_qc8w);
ET_XNNPACK_LIKE(xnn_setup_deconvolution2d_nhwc_qd8_f32_qc8w, xnn_setup_deconvolution2d_nhwc_qdu8_f32_qc8w);

#undef ET_XNNPACK_LIKE

namespace executorch::backends::et_xnnpack {

#ifdef XNN_FLAG_NO_BROADCAST
inline constexpr bool kHasUnsignedRows = true;
#else
inline constexpr bool kHasUnsignedRows = false;
#endif

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
