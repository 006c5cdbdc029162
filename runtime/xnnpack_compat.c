// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "xnnpack_compat.h"

#include "xnnpack/subgraph.h"

void et_xnnpack_set_threadpool(xnn_runtime_t runtime, pthreadpool_t pool) {
  runtime->threadpool = pool;
}

void et_xnnpack_forget_plan(xnn_runtime_t runtime) {
  runtime->memory_planned = false;
  runtime->has_been_setup = false;
}
