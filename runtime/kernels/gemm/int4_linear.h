// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>

#include "low_precision_product.h"
#include "panel_product.h"
#include "quantized_linear.h"
#include "runtime/base/status.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct Int4LinearParameters : QuantizedLinearParameters {
  // In each run(): they are no constants, or the groups of the weight are those of a scale that is none.
  bool packs_weight = false, packs_scale = false, packs_zero_point = false;
};

// The product of Float32 with weights of 4 bits, packed so that a vector holds the same weights of neighbouring
// columns. It is computed in fixed point where the CPU and the numbers allow it.
// Inputs as those of QuantizedLinear but the weight: UInt8 [columns, depth / 2], of which the low four bits come first
// and stand for themselves - 8. The size of a group is even.
class Int4Linear {
 public:
  // Of inputs 1, 2 and 4.
  static std::optional<std::string> packed_layout(const Int4LinearParameters& parameters, size_t i);
  static size_t packed_bytes(const Int4LinearParameters& parameters, size_t i);
  static Status pack(const Int4LinearParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const Int4LinearParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  // The rows of x, rounded by dynamic quantization if they are to be.
  const float* rounded(const KernelArguments& arguments) const;
  // The same with each group filled up to whole eights.
  const float* padded(const float* x, const KernelArguments& arguments) const;
  // Input `i` as it is packed; null if it is absent.
  const void* packed(const KernelArguments& arguments, size_t i) const;

  Int4LinearParameters parameters_;
  PanelProduct product_;
  bool few_rows_ = false, fixed_point_ = false;
  // In bytes of scratch memory.
  size_t rows_bytes_ = 0, product_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
