// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// ExecuTorch's thread pool for programs under the thread sanitizer, which cannot see how the threads
// of a pool that it did not compile wait for each other.

#include "runtime/base/threadpool.h"

#include <algorithm>
#include <thread>

namespace executorch::extension::threadpool {

class NoThreadPoolGuard {
 public:
  static bool is_enabled();
};

pthreadpool_t get_pthreadpool() {
  static const pthreadpool_t pool = pthreadpool_create(std::max(2u, std::thread::hardware_concurrency()));
  return NoThreadPoolGuard::is_enabled() ? nullptr : pool;
}

} // namespace executorch::extension::threadpool
