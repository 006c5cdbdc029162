// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// The insides of XNNPACK that these tests know, where they differ between its versions. What differs in its public
// header is in runtime/xnnpack/versions.h.

#include <cstddef>
#include <cstdint>

#include <cpuinfo.h>
#include <xnnpack.h>

#include <runtime/xnnpack/rounded_rows.h>

#include "xnnpack/common.h"
#include "xnnpack/hardware-config.h"
#include "xnnpack/operator.h"
#ifdef XNN_FLAG_NO_BROADCAST
#include "xnnpack/internal.h" // what rounded_rows.h declares must be the same
#endif

namespace executorch::backends::et_xnnpack::testing {

// The configuration that XNNPACK has found belongs to it, and lies in memory that may be written.
template <typename T>
T& changed(const T* config) {
  return *const_cast<T*>(config);
}

#ifdef XNN_FLAG_NO_BROADCAST // since 2025

// Features of a CPU are bits, cores are XNNPACK's own.
using FeatureId = uint64_t;
#define ET_XNNPACK_FEATURE(family, name) {#name, xnn_arch_##family##_##name}

using CoreId = xnn_uarch;
#define ET_XNNPACK_CORE(name) {#name, xnn_uarch_##name}

inline bool has_feature(FeatureId feature) {
  return (xnn_init_hardware_config()->arch_flags & feature) != 0;
}

inline void drop_feature(FeatureId feature) {
  changed(xnn_init_hardware_config()).arch_flags &= ~feature;
}

inline void use_core(CoreId core) {
  for (xnn_uarch& each : changed(xnn_init_hardware_config()).uarch) {
    each = core;
  }
}

// The microkernels of an operator, and what they are given once it has been reshaped.
inline const xnn_ukernel_gemm& gemm_of(xnn_operator_t op) {
  return op->ukernel.gemm_ukernels->gemm;
}

inline const xnn_ukernel_igemm& igemm_of(xnn_operator_t op) {
  return *op->ukernel.igemm;
}

inline const gemm_context& gemm_context_of(xnn_operator_t op) {
  return op->dynamic_context.gemm->gemm;
}

inline const igemm_context& igemm_context_of(xnn_operator_t op) {
  return op->dynamic_context.igemm->igemm;
}

#else

using FeatureId = bool xnn_hardware_config::*;
#define ET_XNNPACK_FEATURE(family, name) {#name, &xnn_hardware_config::use_##family##_##name}

using CoreId = cpuinfo_uarch;
#define ET_XNNPACK_CORE(name) {#name, cpuinfo_uarch_##name}

inline bool has_feature(FeatureId feature) {
  return xnn_init_hardware_config()->*feature;
}

inline void drop_feature(FeatureId feature) {
  changed(xnn_init_hardware_config()).*feature = false;
}

inline void use_core(CoreId core) {
  changed(cpuinfo_get_core(0)).uarch = core;
  changed(cpuinfo_get_uarch(0)).uarch = core;
}

inline const xnn_ukernel_gemm& gemm_of(xnn_operator_t op) {
  return op->ukernel.gemm;
}

inline const xnn_ukernel_igemm& igemm_of(xnn_operator_t op) {
  return op->ukernel.igemm;
}

inline const gemm_context& gemm_context_of(xnn_operator_t op) {
  return op->context.gemm.gemm.gemm;
}

inline const igemm_context& igemm_context_of(xnn_operator_t op) {
  return op->context.igemm.igemm;
}

#endif

} // namespace executorch::backends::et_xnnpack::testing
