// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "choice.h"

#include "runtime/base/caches.h"
#include "runtime/kernels/conv/int8_conv.h"
#include "runtime/kernels/conv/window_conv.h"
#include "runtime/kernels/elementwise/quantized_arithmetic.h"
#include "runtime/kernels/gemm/bfloat16_product.h"
#include "runtime/kernels/gemm/matrix_product.h"
#include "runtime/kernels/reduce/softmax.h"
#include "runtime/kernels/simd/avx512.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/xnnpack/library.h"

namespace executorch::backends::et_xnnpack {
const Cpu& Cpu::get() {
  static const Cpu cpu{
      xnnpack_has_float16(),
      xnnpack_can_quantize_rows(),
      has_bfloat16_product(),
      has_fast_int8_conv(),
      has_fast_quantized_arithmetic(),
      WindowConv::is_fast(),
      Softmax::longest_short_row(),
      max_unpacked_rows(),
      Blocks::of_this_process()};
  return cpu;
}

// Measured on Cascade Lake and on Zen 5, both with 1 MB of second-level cache a core (docs/kernels.md). Intel's cores wait
// for weights in XNNPACK's tiles wherever they come from, those of AMD for weights that the second-level cache does not hold.
Cpu::Blocks Cpu::Blocks::of_this_process() {
  Blocks blocks;
  if (!has_avx512()) {
    return blocks;
  }
  constexpr size_t kMostInTiles = 3; // of the second-level cache
  const bool is_intel = is_avx512_of_intel();
  const size_t l2 = Caches::get().l2;
  blocks.float32_linear = is_intel ? 0 : kNever;
  blocks.float32_conv = is_intel ? 0 : kMostInTiles * l2;
  if (has_byte_dot()) {
    blocks.int8_linear = is_intel ? 0 : l2;
    blocks.int8_conv = 0;
  }
  return blocks;
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
