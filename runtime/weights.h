// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <unordered_map>
#include <vector>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

#include "blob.h"
#include "memory.h"
#include "subgraph_builder.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::FreeableBuffer;
using executorch::runtime::NamedDataMap;

// The constants of a graph while it is loaded. Kept ones are copied into memory of our
// own, so that nothing of the program file is needed after load and XNNPACK may read
// past their ends; packed ones are borrowed until release_packed().
class Weights : public SubgraphBuilder::ConstantSource {
 public:
  // `named_data` may be null if no constant has a key. Both must outlive loading.
  Weights(const Blob& blob, const NamedDataMap* named_data) : blob_(blob), named_data_(named_data) {}

  StatusOr<const void*> constant(uint32_t value, SubgraphBuilder::Use use) override;

  // Copies the `bytes` of a constant that is no value.
  Status copy(const schema::Constant& constant, size_t bytes, void* to);

  // Gives back the memory of packed constants.
  void release_packed() {
    borrowed_.clear();
  }
  // What kept constants point to; must live as long as their users.
  std::vector<Buffer> take_kept() && {
    return std::move(kept_);
  }

 private:
  StatusOr<const void*> borrow(const schema::Constant& constant, size_t bytes);

  const Blob& blob_;
  const NamedDataMap* named_data_;
  std::vector<FreeableBuffer> borrowed_;
  std::vector<Buffer> kept_;
  std::unordered_map<uint32_t, const void*> kept_by_value_;
};

} // namespace executorch::backends::et_xnnpack
