// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>

namespace executorch::extension::threadpool {

// Exported, but not in the headers of ExecuTorch's package.
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t threads);
};
ThreadPool* get_threadpool();

class NoThreadPoolGuard {
 public:
  static void set_enabled(bool enabled);
};

} // namespace executorch::extension::threadpool
