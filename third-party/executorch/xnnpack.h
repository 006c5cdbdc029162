/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * What we call of the XNNPACK in ExecuTorch's shared library, whose package has no header of it: XNNPACK 92a7ad5, with
 * its names, and nothing that we do not call. test/package/header compares each declaration with XNNPACK's own header:
 * it reads that one first, and this one with ET_XNNPACK_FUNCTIONS_ONLY, or in a namespace with ET_XNNPACK_TYPES_ONLY.
 */

#ifndef ET_XNNPACK_TYPES_ONLY
#define XNN_EXTRA_BYTES 16
#define XNN_EXTRA_QUANTIZATION_PARAMS 15
#define XNN_MAX_TENSOR_DIMS 6
#define XNN_FLAG_TRANSPOSE_WEIGHTS 0x00000001
#define XNN_FLAG_TRANSPOSE_B XNN_FLAG_TRANSPOSE_WEIGHTS
#define XNN_FLAG_FP32_STATIC_WEIGHTS 0x00000008
#define XNN_FLAG_KEEP_DIMS 0x00000040
#define XNN_FLAG_NO_BROADCAST 0x00001000 /* tells versions apart */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthreadpool.h>
#endif

#ifndef ET_XNNPACK_FUNCTIONS_ONLY
typedef struct xnn_operator* xnn_operator_t;

enum xnn_status {
  xnn_status_success = 0,
  xnn_status_uninitialized = 1,
  xnn_status_invalid_parameter = 2,
  xnn_status_invalid_state = 3,
  xnn_status_unsupported_parameter = 4,
  xnn_status_unsupported_hardware = 5,
  xnn_status_out_of_memory = 6,
  xnn_status_reallocation_required = 7,
};

enum xnn_datatype {
  xnn_datatype_fp32 = 1,
  xnn_datatype_fp16 = 2,
  xnn_datatype_qint8 = 3,
};

enum xnn_unary_operator {
  xnn_unary_invalid = -1,
  xnn_unary_abs = 0,
  xnn_unary_bankers_rounding = 2,
  xnn_unary_ceiling = 3,
  xnn_unary_clamp = 4,
  xnn_unary_convert = 5,
  xnn_unary_elu = 7,
  xnn_unary_floor = 9,
  xnn_unary_gelu = 10,
  xnn_unary_hardswish = 11,
  xnn_unary_leaky_relu = 12,
  xnn_unary_negate = 14,
  xnn_unary_sigmoid = 16,
  xnn_unary_square = 19,
  xnn_unary_tanh = 20,
};

enum xnn_binary_operator {
  xnn_binary_invalid = -1,
  xnn_binary_add = 0,
  xnn_binary_subtract = 1,
  xnn_binary_multiply = 2,
  xnn_binary_divide = 3,
  xnn_binary_copysign = 6,
  xnn_binary_squared_difference = 7,
  xnn_binary_prelu = 8,
};

enum xnn_reduce_operator {
  xnn_reduce_mean = 2,
};

struct xnn_quantization_params {
  int32_t zero_point;
  float scale;
};

union xnn_unary_params {
  struct {
    float min;
    float max;
  } clamp;
  struct {
    float alpha;
  } elu;
  struct {
    float negative_slope;
  } leaky_relu;
};

struct xnn_allocator {
  void* context;
  void* (*allocate)(void* context, size_t bytes);
  void* (*reallocate)(void* context, void* memory, size_t bytes);
  void (*deallocate)(void* context, void* memory);
  void* (*aligned_allocate)(void* context, size_t alignment, size_t bytes);
  void (*aligned_deallocate)(void* context, void* memory);
};

struct xnn_weights_cache_look_up_key;

struct xnn_weights_cache_provider {
  void* context;
  size_t (*look_up)(void* context, const struct xnn_weights_cache_look_up_key* key);
  void* (*reserve_space)(void* context, size_t bytes);
  size_t (*look_up_or_insert)(
      void* context, const struct xnn_weights_cache_look_up_key* key, void* packed, size_t bytes);
  bool (*is_finalized)(void* context);
  void* (*offset_to_addr)(void* context, size_t offset);
  enum xnn_status (*delete_cache)(void* context);
  enum xnn_status (*alias_data)(void* context, void* alias, void* original);
};
typedef struct xnn_weights_cache_provider* xnn_weights_cache_t;
#endif

#ifndef ET_XNNPACK_TYPES_ONLY
#ifdef __cplusplus
extern "C" {
#endif

enum xnn_status xnn_initialize(const struct xnn_allocator* allocator);
const void* xnn_experimental_get_build_identifier_data(void);
size_t xnn_experimental_get_build_identifier_size(void);
enum xnn_status xnn_run_operator(xnn_operator_t op, pthreadpool_t pool);
enum xnn_status xnn_delete_operator(xnn_operator_t op);

/* Below, functions with the same parameters are declared by their type. */

/* Operators without parameters. */
typedef enum xnn_status et_xnnpack_create(uint32_t flags, xnn_operator_t* op);
et_xnnpack_create xnn_create_copy_nc_x8, xnn_create_copy_nc_x16, xnn_create_copy_nc_x32;
et_xnnpack_create xnn_create_slice_nd_x8, xnn_create_slice_nd_x16, xnn_create_slice_nd_x32;
et_xnnpack_create xnn_create_softmax_nc_f32, xnn_create_convert_nc_f32_qd8;
et_xnnpack_create xnn_create_batch_matrix_multiply_nc_f16, xnn_create_batch_matrix_multiply_nc_f32;

/* Operands of any type, and of the types of the name. */
typedef enum xnn_status et_xnnpack_setup(xnn_operator_t op, const void* x, void* y);
typedef enum xnn_status et_xnnpack_setup_f32(xnn_operator_t op, const float* x, float* y);
typedef enum xnn_status et_xnnpack_setup_s8(xnn_operator_t op, const int8_t* x, int8_t* y);

/* Rows of channels. Strides are in numbers. */
typedef enum xnn_status et_xnnpack_reshape_nc(
    xnn_operator_t op, size_t rows, size_t channels, size_t x_stride, size_t y_stride, pthreadpool_t pool);
et_xnnpack_reshape_nc xnn_reshape_copy_nc_x8, xnn_reshape_copy_nc_x16, xnn_reshape_copy_nc_x32;
et_xnnpack_setup xnn_setup_copy_nc_x8, xnn_setup_copy_nc_x16, xnn_setup_copy_nc_x32;

/* The rows come last. */
typedef enum xnn_status et_xnnpack_reshape_softmax(
    xnn_operator_t op, size_t channels, size_t x_stride, size_t y_stride, size_t rows, pthreadpool_t pool);
et_xnnpack_reshape_softmax xnn_reshape_softmax_nc_f32;
et_xnnpack_setup_f32 xnn_setup_softmax_nc_f32;

et_xnnpack_reshape_nc xnn_reshape_convert_nc_f32_qd8;
enum xnn_status xnn_setup_convert_nc_f32_qd8(
    xnn_operator_t op, const float* x, int8_t* y, float* sums, struct xnn_quantization_params* quantization);

enum xnn_status xnn_create_unary_elementwise_nc(
    enum xnn_unary_operator type,
    enum xnn_datatype x_type,
    enum xnn_datatype y_type,
    const union xnn_unary_params* params,
    const void* table,
    const struct xnn_quantization_params* x_quantization,
    const struct xnn_quantization_params* y_quantization,
    uint32_t flags,
    xnn_operator_t* op);
et_xnnpack_reshape_nc xnn_reshape_unary_elementwise_nc;
et_xnnpack_setup xnn_setup_unary_elementwise_nc;

enum xnn_status xnn_create_binary_elementwise_nd(
    enum xnn_binary_operator type,
    enum xnn_datatype datatype,
    const struct xnn_quantization_params* a_quantization,
    const struct xnn_quantization_params* b_quantization,
    const struct xnn_quantization_params* y_quantization,
    uint32_t flags,
    xnn_operator_t* op);
enum xnn_status xnn_reshape_binary_elementwise_nd(
    xnn_operator_t op, size_t a_rank, const size_t* a_dims, size_t b_rank, const size_t* b_dims, pthreadpool_t pool);
enum xnn_status xnn_setup_binary_elementwise_nd(xnn_operator_t op, const void* a, const void* b, void* y);

enum xnn_status xnn_create_reduce_nd(
    enum xnn_reduce_operator type,
    enum xnn_datatype datatype,
    const struct xnn_quantization_params* x_quantization,
    const struct xnn_quantization_params* y_quantization,
    uint32_t flags,
    xnn_operator_t* op);
enum xnn_status xnn_reshape_reduce_nd(
    xnn_operator_t op,
    size_t num_axes,
    const int64_t* axes,
    size_t rank,
    const size_t* dims,
    size_t* workspace_bytes,
    pthreadpool_t pool);
enum xnn_status xnn_setup_reduce_nd(xnn_operator_t op, void* workspace, const void* x, void* y);

/* Where parts of a tensor begin and how large they are, or how much is added before and after each axis. */
typedef enum xnn_status et_xnnpack_reshape_parts(
    xnn_operator_t op,
    size_t rank,
    const size_t* dims,
    const size_t* starts_or_before,
    const size_t* sizes_or_after,
    pthreadpool_t pool);
et_xnnpack_reshape_parts xnn_reshape_slice_nd_x8, xnn_reshape_slice_nd_x16, xnn_reshape_slice_nd_x32;
et_xnnpack_setup xnn_setup_slice_nd_x8, xnn_setup_slice_nd_x16, xnn_setup_slice_nd_x32;
typedef enum xnn_status et_xnnpack_create_pad(const void* value, uint32_t flags, xnn_operator_t* op);
et_xnnpack_create_pad xnn_create_constant_pad_nd_x16, xnn_create_constant_pad_nd_x32;
et_xnnpack_reshape_parts xnn_reshape_constant_pad_nd_x16, xnn_reshape_constant_pad_nd_x32;
et_xnnpack_setup xnn_setup_constant_pad_nd_x16, xnn_setup_constant_pad_nd_x32;

/* Pools. Strides between pixels are in channels. */
typedef enum xnn_status et_xnnpack_create_average_pool(
    uint32_t top,
    uint32_t right,
    uint32_t bottom,
    uint32_t left,
    uint32_t kernel_height,
    uint32_t kernel_width,
    uint32_t stride_height,
    uint32_t stride_width,
    float min,
    float max,
    uint32_t flags,
    xnn_operator_t* op);
et_xnnpack_create_average_pool xnn_create_average_pooling2d_nhwc_f16, xnn_create_average_pooling2d_nhwc_f32;
enum xnn_status xnn_create_max_pooling2d_nhwc_s8(
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
    int8_t min,
    int8_t max,
    uint32_t flags,
    xnn_operator_t* op);
typedef enum xnn_status et_xnnpack_reshape_pool(
    xnn_operator_t op,
    size_t images,
    size_t x_height,
    size_t x_width,
    size_t channels,
    size_t x_stride,
    size_t y_stride,
    size_t* y_height,
    size_t* y_width,
    pthreadpool_t pool);
et_xnnpack_reshape_pool xnn_reshape_average_pooling2d_nhwc_f16, xnn_reshape_average_pooling2d_nhwc_f32;
et_xnnpack_reshape_pool xnn_reshape_max_pooling2d_nhwc_s8;
et_xnnpack_setup xnn_setup_average_pooling2d_nhwc_f16;
et_xnnpack_setup_f32 xnn_setup_average_pooling2d_nhwc_f32;
et_xnnpack_setup_s8 xnn_setup_max_pooling2d_nhwc_s8;

/* Products of matrices that are computed. */
enum xnn_status xnn_create_batch_matrix_multiply_nc_f32_const_weights(
    size_t matrices, size_t depth, size_t columns, const float* b, uint32_t flags, xnn_operator_t* op);
typedef enum xnn_status et_xnnpack_reshape_matrices(
    xnn_operator_t op,
    size_t num_batch_axes,
    const size_t* a_batch,
    const size_t* b_batch,
    size_t rows,
    size_t depth,
    size_t columns,
    size_t* workspace_bytes,
    pthreadpool_t pool);
et_xnnpack_reshape_matrices xnn_reshape_batch_matrix_multiply_nc_f16, xnn_reshape_batch_matrix_multiply_nc_f32;
enum xnn_status xnn_setup_batch_matrix_multiply_nc_f16(
    xnn_operator_t op, void* workspace, const void* a, const void* b, void* y);
enum xnn_status xnn_setup_batch_matrix_multiply_nc_f32(
    xnn_operator_t op, void* workspace, const float* a, const float* b, float* y);

enum xnn_status xnn_create_dynamic_fully_connected_nc_f32(float min, float max, uint32_t flags, xnn_operator_t* op);
enum xnn_status xnn_reshape_dynamic_fully_connected_nc_f32(
    xnn_operator_t op,
    size_t rows,
    size_t depth,
    size_t columns,
    size_t x_stride,
    size_t y_stride,
    size_t* workspace_bytes,
    pthreadpool_t pool);
enum xnn_status xnn_setup_dynamic_fully_connected_nc_f32(
    xnn_operator_t op, void* workspace, const float* x, const float* weight, const float* bias, float* y);

/* What the products below have in common: their sizes before what is theirs, and the last parameters. */
#define ET_XNNPACK_LAYER size_t depth, size_t columns, size_t x_stride, size_t y_stride
/* clang-format off */
#define ET_XNNPACK_WINDOW                                        \
  uint32_t top, uint32_t right, uint32_t bottom, uint32_t left,  \
  uint32_t kernel_height, uint32_t kernel_width,                 \
  uint32_t stride_height, uint32_t stride_width,                 \
  uint32_t dilation_height, uint32_t dilation_width,             \
  uint32_t groups, size_t group_x_channels, size_t group_y_channels, size_t x_stride, size_t y_stride
#define ET_XNNPACK_END float min, float max, uint32_t flags, xnn_weights_cache_t cache, xnn_operator_t* op
#define ET_XNNPACK_INTEGER_END                                        \
  const int8_t* weight, const int32_t* bias, int8_t y_zero_point,     \
  float y_scale, int8_t min, int8_t max, uint32_t flags, xnn_weights_cache_t cache, xnn_operator_t* op
/* clang-format on */

typedef enum xnn_status et_xnnpack_reshape_rows(xnn_operator_t op, size_t rows, pthreadpool_t pool);
typedef enum xnn_status et_xnnpack_reshape_rounded_rows(
    xnn_operator_t op, size_t rows, size_t* workspace_bytes, pthreadpool_t pool);
typedef enum xnn_status et_xnnpack_setup_rounded_rows(
    xnn_operator_t op, const int8_t* x, float* y, void* workspace, const struct xnn_quantization_params* quantization);

enum xnn_status xnn_create_fully_connected_nc_f16(
    ET_XNNPACK_LAYER, const void* weight, const void* bias, ET_XNNPACK_END);
et_xnnpack_reshape_rows xnn_reshape_fully_connected_nc_f16;
et_xnnpack_setup xnn_setup_fully_connected_nc_f16;
enum xnn_status xnn_create_fully_connected_nc_f32(
    ET_XNNPACK_LAYER, const float* weight, const float* bias, ET_XNNPACK_END);
et_xnnpack_reshape_rows xnn_reshape_fully_connected_nc_f32;
et_xnnpack_setup_f32 xnn_setup_fully_connected_nc_f32;
typedef enum xnn_status et_xnnpack_create_by_integers(
    ET_XNNPACK_LAYER, const float* scale, const int8_t* weight, const float* bias, ET_XNNPACK_END);
et_xnnpack_create_by_integers xnn_create_fully_connected_nc_qd8_f32_qc8w;
et_xnnpack_reshape_rounded_rows xnn_reshape_fully_connected_nc_qd8_f32_qc8w;
et_xnnpack_setup_rounded_rows xnn_setup_fully_connected_nc_qd8_f32_qc8w;
enum xnn_status xnn_create_fully_connected_nc_qd8_f32_qc4w(
    ET_XNNPACK_LAYER, uint8_t zero_point, const float* scale, const void* weight, const float* bias, ET_XNNPACK_END);
et_xnnpack_reshape_rounded_rows xnn_reshape_fully_connected_nc_qd8_f32_qc4w;
et_xnnpack_setup_rounded_rows xnn_setup_fully_connected_nc_qd8_f32_qc4w;
enum xnn_status xnn_create_fully_connected_nc_qd8_f32_qb4w(
    ET_XNNPACK_LAYER,
    size_t group,
    uint8_t zero_point,
    const uint16_t* scale,
    const void* weight,
    const float* bias,
    ET_XNNPACK_END);
et_xnnpack_reshape_rounded_rows xnn_reshape_fully_connected_nc_qd8_f32_qb4w;
et_xnnpack_setup_rounded_rows xnn_setup_fully_connected_nc_qd8_f32_qb4w;
enum xnn_status xnn_create_fully_connected_nc_qs8(
    ET_XNNPACK_LAYER, int8_t x_zero_point, float x_scale, float scale, ET_XNNPACK_INTEGER_END);
enum xnn_status xnn_create_fully_connected_nc_qs8_qc8w(
    ET_XNNPACK_LAYER, int8_t x_zero_point, float x_scale, const float* scale, ET_XNNPACK_INTEGER_END);
et_xnnpack_reshape_rows xnn_reshape_fully_connected_nc_qs8, xnn_reshape_fully_connected_nc_qs8_qc8w;
et_xnnpack_setup_s8 xnn_setup_fully_connected_nc_qs8, xnn_setup_fully_connected_nc_qs8_qc8w;

/* Convolutions, and transposed ones with the same parameters. */
typedef enum xnn_status et_xnnpack_create_conv_f16(
    ET_XNNPACK_WINDOW, const void* weight, const void* bias, ET_XNNPACK_END);
typedef enum xnn_status et_xnnpack_create_conv_f32(
    ET_XNNPACK_WINDOW, const float* weight, const float* bias, ET_XNNPACK_END);
typedef enum xnn_status et_xnnpack_create_conv_qd8(
    ET_XNNPACK_WINDOW, const float* scale, const int8_t* weight, const float* bias, ET_XNNPACK_END);
typedef enum xnn_status et_xnnpack_create_conv_qs8(
    ET_XNNPACK_WINDOW, int8_t x_zero_point, float x_scale, float scale, ET_XNNPACK_INTEGER_END);
typedef enum xnn_status et_xnnpack_create_conv_qc8(
    ET_XNNPACK_WINDOW, int8_t x_zero_point, float x_scale, const float* scale, ET_XNNPACK_INTEGER_END);
et_xnnpack_create_conv_f16 xnn_create_convolution2d_nhwc_f16, xnn_create_deconvolution2d_nhwc_f16;
et_xnnpack_create_conv_f32 xnn_create_convolution2d_nhwc_f32, xnn_create_deconvolution2d_nhwc_f32;
et_xnnpack_create_conv_qd8 xnn_create_convolution2d_nhwc_qd8_f32_qc8w, xnn_create_deconvolution2d_nhwc_qd8_f32_qc8w;
et_xnnpack_create_conv_qs8 xnn_create_convolution2d_nhwc_qs8, xnn_create_deconvolution2d_nhwc_qs8;
et_xnnpack_create_conv_qc8 xnn_create_convolution2d_nhwc_qs8_qc8w, xnn_create_deconvolution2d_nhwc_qs8_qc8w;

typedef enum xnn_status et_xnnpack_reshape_conv(
    xnn_operator_t op,
    size_t images,
    size_t x_height,
    size_t x_width,
    size_t* workspace_bytes,
    size_t* y_height,
    size_t* y_width,
    pthreadpool_t pool);
et_xnnpack_reshape_conv xnn_reshape_convolution2d_nhwc_f16, xnn_reshape_convolution2d_nhwc_f32;
et_xnnpack_reshape_conv xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w;
et_xnnpack_reshape_conv xnn_reshape_convolution2d_nhwc_qs8, xnn_reshape_convolution2d_nhwc_qs8_qc8w;
enum xnn_status xnn_setup_convolution2d_nhwc_f16(xnn_operator_t op, void* workspace, const void* x, void* y);
enum xnn_status xnn_setup_convolution2d_nhwc_f32(xnn_operator_t op, void* workspace, const float* x, float* y);
enum xnn_status xnn_setup_convolution2d_nhwc_qd8_f32_qc8w(
    xnn_operator_t op, void* workspace, const int8_t* x, float* y, const struct xnn_quantization_params* quantization);
typedef enum xnn_status et_xnnpack_setup_conv_s8(xnn_operator_t op, void* workspace, const int8_t* x, int8_t* y);
et_xnnpack_setup_conv_s8 xnn_setup_convolution2d_nhwc_qs8, xnn_setup_convolution2d_nhwc_qs8_qc8w;

typedef enum xnn_status et_xnnpack_reshape_deconv(
    xnn_operator_t op,
    size_t images,
    size_t x_height,
    size_t x_width,
    uint32_t more_rows,
    uint32_t more_columns,
    size_t* y_height,
    size_t* y_width,
    pthreadpool_t pool);
et_xnnpack_reshape_deconv xnn_reshape_deconvolution2d_nhwc_f16, xnn_reshape_deconvolution2d_nhwc_f32;
et_xnnpack_reshape_deconv xnn_reshape_deconvolution2d_nhwc_qd8_f32_qc8w;
et_xnnpack_reshape_deconv xnn_reshape_deconvolution2d_nhwc_qs8, xnn_reshape_deconvolution2d_nhwc_qs8_qc8w;
et_xnnpack_setup xnn_setup_deconvolution2d_nhwc_f16;
et_xnnpack_setup_f32 xnn_setup_deconvolution2d_nhwc_f32;
enum xnn_status xnn_setup_deconvolution2d_nhwc_qd8_f32_qc8w(
    xnn_operator_t op, const int8_t* x, float* y, const struct xnn_quantization_params* quantization);
et_xnnpack_setup_s8 xnn_setup_deconvolution2d_nhwc_qs8, xnn_setup_deconvolution2d_nhwc_qs8_qc8w;

#undef ET_XNNPACK_LAYER
#undef ET_XNNPACK_WINDOW
#undef ET_XNNPACK_END
#undef ET_XNNPACK_INTEGER_END

#ifdef __cplusplus
}
#endif
#endif
