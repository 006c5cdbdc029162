// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "dtype.h"
#include "memory.h"
#include "status.h"

namespace executorch::backends::et_xnnpack {

// The content of a constant operand, as long as `memory` lives.
struct ConstantData {
  const void* data = nullptr;
  std::shared_ptr<const void> memory;
};

// Weights in the layout that a kernel reads, as long as `memory` lives. Never change.
struct PackedMemory {
  const void* data = nullptr; // null: none
  size_t size = 0;
  // Whether XNNPACK packs weights of this kind before it asks whether that is needed.
  bool is_packed_first = false;
  std::shared_ptr<const void> memory;
};

// Where a kernel gets the constant operands of its node while it is loaded. `i` is the number of an operand that is
// a constant. Several threads may use several of these at the same time.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;

  // Equal for constants of the same content.
  virtual std::string identity(size_t i) const = 0;

  // Its elements, in the type of the operand, followed by kTailBytes readable bytes if those are single bytes. The
  // memory must be let go before the load of the whole graph ends.
  virtual StatusOr<ConstantData> load(size_t i) const = 0;
  // The same of an operand of Float32, rounded to a type of 16 bits.
  virtual StatusOr<ConstantData> load_reduced(size_t i, DType type) const = 0;

  // Memory for something packed.
  virtual StatusOr<Buffer> allocate(size_t bytes) const = 0;

  // What somebody has packed under this key, in this load, this process or for its file; else what `pack` makes, which
  // others get from then on. The key says everything that the bytes depend on. `measure` says what `pack` makes, but
  // for the bytes: what a file has of another size or kind is ignored. `pack` may give none, which nobody gets then.
  struct Measured {
    size_t size;
    bool is_packed_first = false;
  };
  using Measure = std::function<StatusOr<Measured>()>;
  using Pack = std::function<StatusOr<PackedMemory>()>;
  virtual StatusOr<PackedMemory> find_or_pack(const std::string& key, const Measure& measure, const Pack& pack) = 0;
};

} // namespace executorch::backends::et_xnnpack
