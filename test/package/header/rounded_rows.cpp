// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Functions of rounded_rows.h are those of XNNPACK's private header: the compiler refuses to declare them in another way.

// clang-format off
#include "src/xnnpack/internal.h"
// clang-format on
#include "runtime/xnnpack/rounded_rows.h"

static_assert(executorch::backends::et_xnnpack::kHasUnsignedRows);
