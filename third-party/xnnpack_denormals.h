/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Keeps denormal numbers, as PyTorch does, in all operators of XNNPACK but products and pools, where they count as 0
 * for speed. XNNPACK lets them count as 0 everywhere. XnnpackParts.cmake has the compiler read this before what runs
 * operators, in which `op` is the operator.
 */

#include <pthreadpool.h>
#include <stdint.h>

#include "src/xnnpack/microkernel-type.h"

static const uint32_t et_xnnpack_disable_denormals = PTHREADPOOL_FLAG_DISABLE_DENORMALS;

#undef PTHREADPOOL_FLAG_DISABLE_DENORMALS
#define PTHREADPOOL_FLAG_DISABLE_DENORMALS \
  (op->ukernel.type == xnn_microkernel_type_default ? 0 : et_xnnpack_disable_denormals)
