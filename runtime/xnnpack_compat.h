// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What differs between XNNPACK versions or is not in its public header.

#include <xnnpack.h>

// Flag for the creation of a runtime. Fusing is left to the passes ahead of time, as
// XNNPACK's overwrites parameters of the node that a clamp is fused into (its padding,
// if it is a convolution) and makes an empty range of two clamps that do not overlap.
#ifndef XNN_FLAG_NO_OPERATOR_FUSION
#define XNN_FLAG_NO_OPERATOR_FUSION 0x80000000
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Makes `runtime` run on another thread pool from now on. XNNPACK takes the pool when
// a runtime is created, but ExecuTorch may replace its pool between two calls. The
// caller must set up the runtime again before running it, as operators size their
// per-thread memory for the number of threads.
void et_xnnpack_set_threadpool(xnn_runtime_t runtime, pthreadpool_t pool);

// Makes the next xnn_reshape_runtime plan memory from scratch. By itself that plans again
// only when something grows, and so keeps writing an output over an input that by now is
// broadcast. Until then the runtime takes no part when another one moves the workspace that
// they share.
void et_xnnpack_forget_plan(xnn_runtime_t runtime);

#ifdef __cplusplus
}
#endif
