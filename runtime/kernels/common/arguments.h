// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include <executorch/runtime/core/span.h>
#include <pthreadpool.h>

#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// What a kernel runs on. Pointers are aligned to the element type at least, those to packed
// inputs to 64 bytes; an absent optional input is null. Inputs and outputs do not overlap, but output 0 may be input 0
// if the operator is `in_place`.
struct KernelArguments {
  Span<const void* const> inputs;
  Span<void* const> outputs;
  void* scratch; // 64-byte aligned, as many bytes as the last reshape() asked for
  pthreadpool_t pool; // null: run on the calling thread
  Status* status; // where a kernel says that it cannot compute with the numbers it got
  // Where a kernel that works in place saves what undo() needs; null: nowhere.
  void* undo = nullptr;

  // Null if absent.
  template <typename T>
  const T* input(size_t i) const {
    return i < inputs.size() ? static_cast<const T*>(inputs[i]) : nullptr;
  }
  template <typename T>
  T* output(size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

} // namespace executorch::backends::et_xnnpack
