// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <pthreadpool.h>

namespace executorch::extension::threadpool {

// ExecuTorch's pool; null under a NoThreadPoolGuard. Declared here because the header is
// not part of ExecuTorch's package.
pthreadpool_t get_pthreadpool();

} // namespace executorch::extension::threadpool
