/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_names.h"

#include <stdatomic.h>

enum { kMost = 1024 };

static _Atomic(const char*) names[kMost];
static atomic_size_t count;

void et_xnnpack_note_microkernel(const char* name) {
  const size_t i = atomic_fetch_add(&count, 1);
  if (i < kMost) {
    atomic_store(&names[i], name);
  }
}

const char* et_xnnpack_microkernel(size_t i) {
  return i < kMost ? atomic_load(&names[i]) : NULL;
}

void et_xnnpack_choose_microkernels(void) {
  xnn_init_f32_dwconv_config();
  xnn_init_f32_qc8w_gemm_config();
  xnn_init_f16_gemm_config();
  xnn_init_qs8_qc8w_gemm_config();
  xnn_init_qd8_f32_qc8w_gemm_config();
  xnn_init_qd8_f32_qb4w_gemm_config();
#ifdef ET_XNNPACK_NEWER
  xnn_init_f32_gemm_config(0);
  xnn_init_f32_igemm_config();
  xnn_init_qdu8_f32_qc8w_gemm_config();
  xnn_init_qdu8_f32_qb4w_gemm_config();
#else
  xnn_init_f32_gemm_config();
#endif
}
