// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <string>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

#include "packed_weights.h"
#include "runtime/base/memory.h"
#include "runtime/base/mutex.h"
#include "runtime/program/blob.h"
#include "runtime/program/tensor_type.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::FreeableBuffer;
using executorch::runtime::NamedDataMap;

// Reads constants of a blob from where they are: in the blob, or under a key in the program or a .ptd file. Several threads
// may do so, one at a time: ExecuTorch's maps know no threads.
class ConstantReader {
 public:
  // `named_data` may be null if no constant has a key. Both must live as long.
  ConstantReader(const Blob& blob, const NamedDataMap* named_data) : blob_(blob), named_data_(named_data) {}

  StatusOr<TensorType> type(uint32_t value) const;
  // Equal for constants of the same content.
  std::string identity(uint32_t value) const;

  // The data of a constant as long as `memory` lives, which must not outlive this.
  struct Original {
    const void* data;
    std::shared_ptr<const void> memory;
  };
  StatusOr<Original> load(uint32_t value) const;
  // The same of Float32, rounded to a type of 16 bits.
  StatusOr<Original> load_reduced(uint32_t value, DType to) const;

  // Copies the elements of a constant of this type.
  Status copy(const schema::Constant& constant, const TensorType& type, void* to) const;
  // A copy of them to write to, of memory that an initial content of zeros does not take before it is written.
  StatusOr<Buffer> own(const schema::Constant& constant, const TensorType& type) const;
  // The data of a constant with kTailBytes readable behind it, for as long as ExecuTorch has it: where it is, if that is
  // possible and not `copied`, or as a copy.
  StatusOr<PackedBytes> keep(const schema::Constant& constant, const TensorType& type, bool copied) const;

  bool has_data(const char* key) const;
  const NamedDataMap* named_data() const {
    return named_data_;
  }

  // Has the system provide the pages of memory for a packed weight, or for an original that cannot be read where it is.
  void populate(const Buffer& buffer) const;
  // Says whether several threads load constants from now on.
  void use_threads(bool several) {
    on_several_threads_ = several;
  }

 private:
  struct Borrowed;
  StatusOr<FreeableBuffer> get(const schema::Constant& constant, size_t bytes) const;
  StatusOr<std::shared_ptr<const FreeableBuffer>> borrow(const schema::Constant& constant, size_t bytes) const;

  const Blob& blob_;
  const NamedDataMap* const named_data_;
  bool on_several_threads_ = false;
  mutable Mutex<LockLevel::Data> data_mutex_;
};

} // namespace executorch::backends::et_xnnpack
