/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Has XNNPACK say which microkernels it chooses on this CPU, for those who ask (et-xnnpack doctor). XnnpackParts.cmake has
 * the compiler read this before the sources that choose: XNNPACK of 2026 writes their names into its log, which is left
 * out, and that of 2024 hands those for products to a function.
 */

#include <stddef.h>

#include "src/xnnpack/config.h"
#include "src/xnnpack/log.h"

#ifdef __cplusplus
extern "C" {
#endif

void et_xnnpack_note_microkernel(const char* name);

/* The names of those that were chosen in this process so far; null from their number on. */
const char* et_xnnpack_microkernel(size_t i);

/* Has XNNPACK choose those for products of all types that we use, and for float32 convolutions of single channels. */
void et_xnnpack_choose_microkernels(void);

#ifdef __cplusplus
}
#endif

#ifdef ET_XNNPACK_NAMES_OF_LOG
#undef xnn_log_info
#define xnn_log_info(format, name) et_xnnpack_note_microkernel(name)
#endif
#ifdef ET_XNNPACK_NAMES_OF_PRODUCTS
#define xnn_init_hmp_gemm_ukernel(function) \
  (et_xnnpack_note_microkernel(#function), xnn_init_hmp_gemm_ukernel(function))
#define xnn_init_hmp_igemm_ukernel(function) \
  (et_xnnpack_note_microkernel(#function), xnn_init_hmp_igemm_ukernel(function))
#define xnn_init_hmp_dqgemm_ukernel(function) \
  (et_xnnpack_note_microkernel(#function), xnn_init_hmp_dqgemm_ukernel(function))
#define xnn_init_hmp_dqigemm_ukernel(function) \
  (et_xnnpack_note_microkernel(#function), xnn_init_hmp_dqigemm_ukernel(function))
#endif
