// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "choice.h"

#include "runtime/kernels/conv/int8_block_conv.h"
#include "runtime/kernels/conv/int8_depthwise.h"
#include "runtime/kernels/elementwise/quantized_sum.h"
#include "runtime/kernels/gemm/bfloat16_product.h"
#include "runtime/kernels/gemm/block_product.h"
#include "runtime/xnnpack/library.h"

namespace executorch::backends::et_xnnpack {
const Cpu& Cpu::get() {
  static const Cpu cpu{
      xnnpack_has_float16(),
      xnnpack_can_quantize_rows(),
      has_bfloat16_product(),
      Int8DepthwiseConv::is_fast(),
      Int8BlockConv::is_fast(),
      has_fast_quantized_sum(),
      has_fast_block_product()};
  return cpu;
}

const char* name_of(const Choice& choice) {
  switch (choice.kind) {
    case Choice::Kind::View:
      return "view";
    case Choice::Kind::Row:
      return "row";
    case Choice::Kind::Kernel:
      return choice.bfloat16 ? "kernel in BFloat16" : "kernel";
    case Choice::Kind::Xnnpack:
      return choice.float16 ? "XNNPACK in Float16" : "XNNPACK";
  }
  return "unknown";
}

} // namespace executorch::backends::et_xnnpack
