// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "waiting.h"

#include <atomic>

#include "threadpool.h"

namespace executorch::backends::et_xnnpack {
namespace {

std::atomic<void* (*)()> begin_waiting{nullptr};
std::atomic<void (*)(void*)> end_waiting{nullptr};

} // namespace

void set_wait_hooks(WaitHooks hooks) {
  end_waiting = hooks.end;
  begin_waiting = hooks.begin;
}

Waiting::Waiting()
    : state_([] {
        void* (*const begin)() = begin_waiting;
        return begin == nullptr ? nullptr : begin();
      }()) {}

Waiting::~Waiting() {
  if (state_ != nullptr) {
    end_waiting.load()(state_);
  }
}

std::unique_lock<std::mutex> wait_for(std::mutex& mutex) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) {
    const Waiting waiting;
    lock.lock();
  }
  return lock;
}

pthreadpool_t wait_for_pool() {
  static std::mutex* const mutex = new std::mutex;
  static std::atomic<bool> is_made{false};
  if (is_made.load(std::memory_order_acquire)) {
    return executorch::extension::threadpool::get_pthreadpool();
  }
  const std::unique_lock<std::mutex> lock = wait_for(*mutex);
  const pthreadpool_t pool = executorch::extension::threadpool::get_pthreadpool();
  if (pool != nullptr) {
    is_made.store(true, std::memory_order_release);
  }
  return pool;
}

} // namespace executorch::backends::et_xnnpack
