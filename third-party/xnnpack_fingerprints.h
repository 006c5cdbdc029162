/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Has XNNPACK make no fingerprint of how it packs. It packs numbers of its own for it, when it creates the first operator
 * of a kind, and where there is no memory for them it writes to address 0. The cache that needs fingerprints is not ours.
 * XnnpackParts.cmake has the compiler read this before the operators that make them.
 */

#include "src/operators/fingerprint_cache.h"

/* As if there were one already. */
static inline struct fingerprint_context et_xnnpack_known_fingerprint(enum xnn_fingerprint_id id) {
  struct fingerprint_context context = create_fingerprint_context(xnn_fingerprint_id_unknown);
  context.fingerprint_id = id;
  context.status = xnn_status_success;
  return context;
}

#define create_fingerprint_context(id) et_xnnpack_known_fingerprint(id)
