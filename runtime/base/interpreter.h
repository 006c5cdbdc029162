// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <mutex>

#include <pthreadpool.h>

#include "runtime/base/mutex.h"
#include "runtime/et_xnnpack.h"

namespace executorch::backends::et_xnnpack {

// Python and other interpreters in the process of the backend.

// REQUIRES: no thread is waiting
void set_interpreter_hooks(InterpreterHooks hooks);

// Logs an error; `what` was tried, or null. REQUIRES: this thread holds no lock
void log_error(const char* what, const char* message);

// ExecuTorch may log under locks of all levels but the last. In Python its log waits for the interpreter, so nobody may
// wait for such a lock, or for what a thread does that holds one, and keep the interpreter from the others. Hence who
// waits says so.

// This thread waits as long as one of these lives.
class Waiting {
 public:
  Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting();

 private:
  void* const state_;
};

template <LockLevel kLevel>
std::unique_lock<Mutex<kLevel>> wait_for(Mutex<kLevel>& mutex) {
  static_assert(kLevel != LockLevel::Table, "nobody waits long for these");
  std::unique_lock<Mutex<kLevel>> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) {
    const Waiting waiting;
    lock.lock();
  }
  return lock;
}

// ExecuTorch's pool, which is made, and logs how, when somebody asks for it first; null under a NoThreadPoolGuard.
pthreadpool_t wait_for_pool();

} // namespace executorch::backends::et_xnnpack
