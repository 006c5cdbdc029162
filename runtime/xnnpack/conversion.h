// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "operator.h"

namespace executorch::backends::et_xnnpack {

// Converts between Float32 and Float16, on the threads of a pool: where a value passes between a kernel that computes in
// Float16 and one that does not.
class FloatConversion {
 public:
  enum class To { Float16, Float32 };
  static StatusOr<FloatConversion> create(To to);

  // Takes over another number of elements, not 0, and the pool that run() will get; null: the calling thread.
  Status reshape(size_t count, pthreadpool_t pool);
  // XNN_EXTRA_BYTES behind `from` must be readable. `from` and `to` do not overlap.
  Status run(const void* from, void* to, pthreadpool_t pool);

 private:
  explicit FloatConversion(OperatorPtr op) : operator_(std::move(op)) {}

  OperatorPtr operator_;
};

} // namespace executorch::backends::et_xnnpack
