// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct Float64MatMulParameters {
  size_t batch = 1, rows = 0, depth = 0, columns = 0;
  bool b_transposed = false; // b is [batch, columns, depth], else [batch, depth, columns]
};

// What is multiplied at once: rows of a by columns of b, over so many of the numbers that are summed up.
struct Float64Tile {
  static constexpr size_t kRows = 4, kColumns = 16, kDepth = 256; // a panel of b stays in the first cache
};

// Matrix products of input 0, [batch, rows, depth], and input 1, with an optional bias as input 2, [columns], all of
// Float64.
class Float64MatMul {
 public:
  size_t reshape(const Float64MatMulParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  Float64MatMulParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
