// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What the machine can do at most. A kernel is as fast as can be when it is near one of these limits.

#include <cstddef>

namespace executorch::backends::et_xnnpack {

constexpr size_t kNumbersOfThread = size_t{16} << 20; // that it reads or copies; 64 MB, more than caches hold

// Of all threads together, float32, two operations for a multiply-add; bytes read and bytes written both count.
struct Limits {
  double flop_per_second = 0; // multiply-adds in registers
  double bytes_read_per_second = 0; // memory, beyond what caches hold
  double bytes_copied_per_second = 0;
};

// Takes half a second, and 128 MB a thread. The best of several runs: others may use the machine, too.
Limits measure_limits(size_t threads);

// One run on the calling thread, of which `measure_limits` makes the rates; returns what it did.
size_t multiply_add(float* result); // in operations
float sum(const float* x, size_t count);

} // namespace executorch::backends::et_xnnpack
