// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

#include "parallel.h"
#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// What goes on with the output of a kernel, a part at a time, while that is in a cache: the kernel writes the output
// itself nowhere.
class Tail {
 public:
  virtual ~Tail() = default;
  // Takes elements [first, first + count) of the output, whole lines of its last axis, from memory that the caller uses
  // again. Each element is taken once. Threads of the pool take at once, each with its own number `thread`.
  virtual void take(size_t thread, size_t first, size_t count, const float* elements) const = 0;
};

// Has the tail take a whole output of `lines` lines of `line` elements.
inline void take_all(const Tail& tail, const float* elements, size_t lines, size_t line, pthreadpool_t pool) {
  constexpr size_t kGrain = 16384; // elements
  const size_t grain = kGrain / (line + 1) + 1;
  parallel_for_with_thread(pool, divide_up(lines, grain), [&](size_t thread, size_t i) {
    const size_t first = i * grain, count = std::min(grain, lines - first);
    tail.take(thread, first * line, count * line, elements + first * line);
  });
}

} // namespace executorch::backends::et_xnnpack
