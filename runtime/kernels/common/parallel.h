// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

// Null means the calling thread.
inline size_t threads_of(pthreadpool_t pool) {
  return pool == nullptr ? 1 : pthreadpool_get_threads_count(pool);
}

// Calls function(begin, end) for parts of [0, count) of about `grain` items each, on
// the threads of `pool`.
template <typename Function>
void parallel_for(pthreadpool_t pool, size_t count, size_t grain, const Function& function) {
  if (count == 0) {
    return;
  }
  if (pool == nullptr || count <= grain) {
    function(size_t{0}, count);
    return;
  }
  pthreadpool_parallelize_1d_tile_1d(
      pool,
      [](void* context, size_t begin, size_t size) { (*static_cast<const Function*>(context))(begin, begin + size); },
      const_cast<void*>(static_cast<const void*>(&function)),
      count,
      grain,
      0);
}

// Calls function(thread, i) for every i in [0, count). No two calls with the same `thread`,
// which is below the number of threads in `pool`, run at once.
template <typename Function>
void parallel_for_with_thread(pthreadpool_t pool, size_t count, const Function& function) {
  if (pool == nullptr || count <= 1) {
    for (size_t i = 0; i < count; ++i) {
      function(size_t{0}, i);
    }
    return;
  }
  pthreadpool_parallelize_1d_with_thread(
      pool,
      [](void* context, size_t thread, size_t i) { (*static_cast<const Function*>(context))(thread, i); },
      const_cast<void*>(static_cast<const void*>(&function)),
      count,
      0);
}

} // namespace executorch::backends::et_xnnpack
