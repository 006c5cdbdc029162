// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <mutex>

#include <pthreadpool.h>

#include "runtime/et_xnnpack.h"

namespace executorch::backends::et_xnnpack {

// Locks are taken in this order, any of them left out:
//   1. that of a delegate, while it executes
//   2. States::mutex()
//   3. Workspace::mutex()
//   4. those inside of ExecuTorch's pool, while its threads work
//   5. ConstantReader::data_mutex_, while ExecuTorch gives data
//   6. all others: they guard a table, and under them nothing runs that takes a lock: no destructor of what is shared,
//      no function of others, no log.
//
// ExecuTorch may log under the first five. In Python its log waits for the interpreter, so nobody may wait for such a
// lock, or for what a thread does that holds one, and keep the interpreter from the others. Hence who waits says so.

// REQUIRES: no thread is waiting
void set_wait_hooks(WaitHooks hooks);

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

// Locks of the first three kinds.
std::unique_lock<std::mutex> wait_for(std::mutex& mutex);

// ExecuTorch's pool, which is made, and logs how, when somebody asks for it first; null under a NoThreadPoolGuard.
pthreadpool_t wait_for_pool();

} // namespace executorch::backends::et_xnnpack
