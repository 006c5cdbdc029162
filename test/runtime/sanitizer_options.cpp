// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Sanitizers: a failed allocation is a null pointer, as without them, and 2 GiB is too much. The order of locks is checked.
#include <runtime/base/mutex.h>

#ifdef ET_XNNPACK_SANITIZED
static_assert(executorch::backends::et_xnnpack::kChecksLocks, "sanitizers run what is built with assertions");
#endif

extern "C" {
const char* __asan_default_options();
__attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=2048:detect_stack_use_after_return=1";
}
const char* __tsan_default_options();
__attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}
