/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Has XNNPACK say that there is no memory for the second parameters of an operator, instead of writing to address 0.
 * XnnpackParts.cmake has the compiler read this before operators that have such parameters: with
 * ET_XNNPACK_GOTO_ERROR those that have a label for errors, with the status of this one by then.
 */

#include "src/xnnpack/operator-utils.h"

#ifdef ET_XNNPACK_GOTO_ERROR
#define xnn_allocate_extra_params(op, count)                      \
  if (xnn_allocate_extra_params(op, count) != xnn_status_success) \
  goto error
#else
/* One operator is on the stack, its address is what is given. */
static inline enum xnn_status et_xnnpack_give_back(xnn_operator_t op, int is_on_stack) {
  if (is_on_stack) {
    xnn_destroy_operator(op);
  } else {
    xnn_delete_operator(op);
  }
  return xnn_status_out_of_memory;
}

#define xnn_allocate_extra_params(op, count)                      \
  if (xnn_allocate_extra_params(op, count) != xnn_status_success) \
  return et_xnnpack_give_back(op, (#op)[0] == '&')
#endif
