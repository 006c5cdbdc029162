// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <executorch/runtime/core/span.h>
#include <pthreadpool.h>

#include "../status.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

class NodeContext;

// What a kernel runs on. Pointers are aligned to the element type at least, those to packed
// inputs to 64 bytes; an absent optional input is null. Inputs and outputs do not overlap, but output 0 may be input 0 if the
// operator is `in_place`.
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

// The in-tree implementation of one node. Owned by one Executable, used by one thread
// at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // How run() wants constant input `i` to lie in memory, if not as it is: a name that, with the
  // input's type and content, says what pack() writes. Must not depend on other inputs' content
  // or on sizes that can change.
  virtual std::optional<std::string> packed_layout(const NodeContext&, size_t /*i*/) const {
    return std::nullopt;
  }
  // REQUIRES: input i has such a layout
  virtual size_t packed_bytes(const NodeContext&, size_t /*i*/) const {
    return 0;
  }
  virtual Status pack(const NodeContext&, size_t /*i*/, const void* /*original*/, void* /*packed*/) const {
    return {};
  }

  // Takes over new sizes; returns the bytes of scratch memory that run() needs.
  // Called before the first run(), when a size changed, and when the number of
  // threads in the pool changed. Operand types passed `infer`.
  virtual StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) = 0;

  // Computes; allocates nothing. If it fails nothing that it got in place has changed.
  virtual void run(const KernelArguments& arguments) = 0;

  // Bytes that `undo` of the arguments needs, 64-byte aligned.
  virtual size_t undo_bytes() const {
    return 0;
  }
  // Gives the memory that the last run() worked on in place its old content.
  // REQUIRES: the arguments are those of that run(), with `undo`
  virtual void undo(const KernelArguments&) {}
};

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
