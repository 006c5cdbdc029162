// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Products of rows that are rounded to 8 bits at run time, by KleidiAI's microkernels: operators that XNNPACK has and that
// its public header lacks. They take rows of Float32, and round and pack them in their workspace
// (third-party/xnnpack_kleidiai.c).

#include <cstddef>
#include <cstdint>

#include <cpuinfo.h>
#include <xnnpack.h>

#ifdef ET_XNNPACK_KLEIDIAI
extern "C" {
decltype(xnn_create_fully_connected_nc_qd8_f32_qb4w) xnn_create_fully_connected_nc_qp8_f32_qb4w;
decltype(xnn_create_fully_connected_nc_qd8_f32_qc4w) xnn_create_fully_connected_nc_qp8_f32_qc4w;
decltype(xnn_create_fully_connected_nc_qd8_f32_qc8w) xnn_create_fully_connected_nc_qp8_f32_qc8w;

xnn_status xnn_reshape_fully_connected_nc_qp8_f32_qb4w(xnn_operator_t, size_t rows, size_t* bytes, pthreadpool_t);
decltype(xnn_reshape_fully_connected_nc_qp8_f32_qb4w) xnn_reshape_fully_connected_nc_qp8_f32_qc4w;
decltype(xnn_reshape_fully_connected_nc_qp8_f32_qb4w) xnn_reshape_fully_connected_nc_qp8_f32_qc8w;

xnn_status xnn_setup_fully_connected_nc_qp8_f32_qb4w(xnn_operator_t, const int8_t* x, float* y, void* workspace);
decltype(xnn_setup_fully_connected_nc_qp8_f32_qb4w) xnn_setup_fully_connected_nc_qp8_f32_qc4w;
decltype(xnn_setup_fully_connected_nc_qp8_f32_qb4w) xnn_setup_fully_connected_nc_qp8_f32_qc8w;
}
#endif

namespace executorch::backends::et_xnnpack {

// XNN_FLAG_INLINE_LHS_PACKING: the operator rounds and packs the rows itself.
inline constexpr uint32_t kTakesRows = 0x200;

// Whether KleidiAI's products are there and take fewer instructions on this CPU than XNNPACK's own, as they do with matrix
// products of 8 bits.
inline bool prefers_kleidiai() {
#ifdef ET_XNNPACK_KLEIDIAI
  return cpuinfo_initialize() && cpuinfo_has_arm_i8mm();
#else
  return false;
#endif
}

} // namespace executorch::backends::et_xnnpack
