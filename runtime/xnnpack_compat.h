// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What differs between XNNPACK versions or is not in its public header.

#include <xnnpack.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes `runtime` run on another thread pool from now on. XNNPACK takes the pool when
// a runtime is created, but ExecuTorch may replace its pool between two calls. The
// caller must set up the runtime again before running it, as operators size their
// per-thread memory for the number of threads.
void et_xnnpack_set_threadpool(xnn_runtime_t runtime, pthreadpool_t pool);

#ifdef __cplusplus
}
#endif
