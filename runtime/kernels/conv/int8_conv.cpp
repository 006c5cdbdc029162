// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_conv.h"

#include <hwy/detect_compiler_arch.h>

#include "runtime/kernels/simd/isa.h"

namespace executorch::backends::et_xnnpack {

bool has_fast_int8_conv() {
  return HWY_ARCH_X86 && has_byte_dot();
}

} // namespace executorch::backends::et_xnnpack
