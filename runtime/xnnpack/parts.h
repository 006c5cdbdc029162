// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What XNNPACK computes as programs mean it. An XNNPACK that we build has parts of ours for that (third-party/README.md).
// That of ExecuTorch has none, and what it lacks is computed in another way: operators ask here when they choose who computes
// a node. Where that can differ between versions and CPUs XNNPACK is asked by a small operator, once.

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

enum class Part : uint8_t {
  Denormals, // elementwise operators keep denormal numbers
  Rounding, // products by rows or images that it rounds to 8 bits are NaN where one of these holds NaN or infinity
  Sums, // products of 8-bit integers are right for weights of -128
};

bool xnnpack_has(Part part);

// What limits its result in XNNPACK, although there may be no limits in the program.
enum class Limited : uint8_t {
  Linear, // and what multiplies matrices
  Conv, // and transposed ones
  Depthwise,
  AvgPool,
};

// Whether a NaN in an operand is NaN in such a result, and only where it should be: some microkernels multiply what is
// beside a window by 0. `size`: the columns of a product, the output channels in a group of a convolution, the taps of a
// depthwise one, 0 for one of 1 x 1 without stride and padding; of no meaning for pools.
bool xnnpack_keeps_nan(Limited op, bool float16, size_t size);

} // namespace executorch::backends::et_xnnpack
