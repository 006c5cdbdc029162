// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/base/constant_source.h"
#include "runtime/base/status.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/strip.h"
#include "runtime/kernels/common/tail.h"

namespace executorch::backends::et_xnnpack {

class NodeContext;

// What computes one node. Owned by one Executable, used by one thread
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
  // The type in which pack() takes elements: that of the operand or, where that is Float32, one of 16 bits.
  virtual DType packed_from(const NodeContext& node, size_t i) const;

  // Reads and packs constant operands. Called once, before the first reshape(); kernels of several nodes may do so at
  // the same time.
  virtual Status load(const NodeContext&, ConstantSource&) {
    return {};
  }
  // Whether load() keeps all that is needed of constant input `i`: run() gets null for it, and nobody else has to keep it.
  virtual bool consumes(const NodeContext&, size_t /*i*/) const {
    return false;
  }

  // Whether it consumes that input only because it computes in Float16: one that computes the node in Float32 reads it.
  virtual bool rounds(const NodeContext&, size_t /*i*/) const {
    return false;
  }

  // Whether load() reads that input even if all is packed.
  virtual bool loads_always(const NodeContext&, size_t /*i*/) const {
    return false;
  }

  // The pool that run() will get, null for the calling thread. Called before each reshape().
  virtual void use_pool(pthreadpool_t) {}

  // Takes over new sizes; returns the bytes of scratch memory that run() needs.
  // Called before the first run(), when a size changed, and when the number of
  // threads in the pool changed. Operand types passed `infer`.
  virtual StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) = 0;

  // Whether, at the sizes of the last reshape(), output 0 may be written where input `i` is.
  virtual bool can_overwrite(size_t /*i*/) const {
    return false;
  }

  // Of an operator that finds the size of its result in data: that size. Called before each run(), which gets the same
  // inputs and scratch memory; there are no outputs yet.
  virtual size_t find_size(const KernelArguments&) {
    return 0;
  }

  // Computes; allocates nothing. If it fails nothing that it got in place has changed.
  virtual void run(const KernelArguments& arguments) = 0;

  // Of a Choice that `leads`: the bytes of scratch memory that run_into() needs. Called after each reshape().
  virtual size_t scratch_with_tail(size_t /*num_threads*/) const {
    return 0;
  }
  // Computes like run(), but gives output 0, which it gets no memory for, to `tail`.
  virtual void run_into(const KernelArguments& /*arguments*/, const Tail& /*tail*/) {}

  // Of one that a Choice makes for strips: takes over new sizes and how many threads make strips at once. Called instead
  // of reshape().
  virtual Status reshape_strips(const NodeContext&, size_t /*num_threads*/) {
    return {};
  }
  // The rows of an image of input 0 that these rows of output 0 are made of.
  virtual RowRange rows_seen(RowRange rows) const {
    return rows;
  }
  // Bytes of scratch memory that run_strip() needs for so many rows of output 0.
  virtual size_t strip_scratch(size_t /*rows*/) const {
    return 0;
  }
  // Makes a strip of output 0 from one of input 0. The arguments are for the other operands and for scratch memory.
  virtual void run_strip(const KernelArguments& /*arguments*/, const Strip& /*strip*/) {}

  // Bytes that `undo` of the arguments needs, 64-byte aligned.
  virtual size_t undo_bytes() const {
    return 0;
  }
  // Gives the memory that the last run() worked on in place its old content.
  // REQUIRES: the arguments are those of that run(), with `undo`
  virtual void undo(const KernelArguments&) {}

  // Whether XNNPACK reads output 0 again, and so may read behind it, as behind what it reads alone. Known after load().
  virtual bool reads_output() const {
    return false;
  }
};

// Constant input `i` as the kernel wants it, packed unless somebody has.
// REQUIRES: the kernel has a layout for it
StatusOr<PackedMemory> pack_operand(const Kernel& kernel, const NodeContext& node, size_t i, ConstantSource& constants);

} // namespace executorch::backends::et_xnnpack
