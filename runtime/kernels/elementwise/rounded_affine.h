// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <memory>

#include "row.h"
#include "runtime/base/dtype.h"

namespace executorch::backends::et_xnnpack {

// A batch norm between operators of 16 bits: clamp(round(x) * scale + shift), of operands x, scale and shift in
// Float32. Each operation rounds to Float32, and round() to 16 bits in between. Or of x in 16 bits, which is not
// rounded.
struct RoundedAffine {
  enum class Result : uint8_t { Float32, Rounded, Reduced }; // as it is; rounded to 16 bits, in Float32; in 16 bits

  DType type; // Float16 or BFloat16
  bool reduced_x; // x is in 16 bits
  float min, max;
  Result result;
};

std::unique_ptr<Row> rounded_affine_row(const RoundedAffine& affine);

} // namespace executorch::backends::et_xnnpack
