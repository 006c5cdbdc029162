// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "interpreter.h"

#include <atomic>

#include <executorch/runtime/platform/log.h>

#include "threadpool.h"

namespace executorch::backends::et_xnnpack {
namespace {

std::atomic<void* (*)()> begin_waiting{nullptr};
std::atomic<void (*)(void*)> end_waiting{nullptr};
std::atomic<bool (*)(const char*, const char*)> log_in_interpreter{nullptr};

} // namespace

void set_interpreter_hooks(InterpreterHooks hooks) {
  end_waiting = hooks.end_waiting;
  begin_waiting = hooks.begin_waiting;
  log_in_interpreter = hooks.log;
}

void log_error(const char* what, const char* message) {
  bool (*const hook)(const char*, const char*) = log_in_interpreter;
  if (hook != nullptr && hook(what, message)) {
    return;
  }
  if (what == nullptr) {
    ET_LOG(Error, "et_xnnpack: %s", message);
  } else {
    ET_LOG(Error, "et_xnnpack: %s: %s", what, message);
  }
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

pthreadpool_t wait_for_pool() {
  static auto* const mutex = new Mutex<LockLevel::Pool>;
  static std::atomic<bool> is_made{false};
  if (is_made.load(std::memory_order_acquire)) {
    return executorch::extension::threadpool::get_pthreadpool();
  }
  const auto lock = wait_for(*mutex);
  const pthreadpool_t pool = executorch::extension::threadpool::get_pthreadpool();
  if (pool != nullptr) {
    is_made.store(true, std::memory_order_release);
  }
  return pool;
}

} // namespace executorch::backends::et_xnnpack
