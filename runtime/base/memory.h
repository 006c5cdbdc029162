// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <xnnpack.h>

#include "round_up.h"
#include "status.h"

namespace executorch::backends::et_xnnpack {

// Alignment of all memory that the delegate allocates: a cache line and any SIMD register.
constexpr size_t kAlignment = 64;

// Every tensor is followed by this many readable bytes; XNNPACK reads past ends.
constexpr size_t kTailBytes = 128;

constexpr size_t round_up_to_alignment(size_t bytes) {
  return round_up(bytes, kAlignment);
}

// Whether XNNPACK may read that far past the end of these bytes: it stays on their last page.
bool is_tail_readable(const void* data, size_t bytes, size_t tail = XNN_EXTRA_BYTES);

// Has the system provide the pages of memory that is about to be written whole, in one call
// instead of one fault for each. Only the whole pages in it, and only where that pays; memory that
// was in use before keeps its content.
void populate(void* data, size_t bytes);

// Who allocates what:
//  - What is as large as tensors are is in a Buffer or an Array, which report that there is no memory: packed
//    weights, scratch memory, tables of an entry for each position, row, column or channel.
//  - What counts nodes, values, axes or letters is no larger than what Blob::open let in, and is in the containers
//    of the standard library. Those throw, which guarded() in status.h turns into the same error.

// Memory, aligned to kAlignment: of the heap, unless somebody else owns it.
class Buffer {
 public:
  Buffer() = default;
  // A part of what `owner` owns, which must be aligned and have kTailBytes behind.
  Buffer(char* data, size_t bytes, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), data_(data, Free{nullptr}), size_(bytes) {}
  // Uninitialized, with kTailBytes behind. Fails with MemoryAllocationFailed.
  static StatusOr<Buffer> allocate(size_t bytes);
  // The same for a short time: a large one is the system's again when it goes. malloc would keep it where something
  // small that stays lies behind it.
  static StatusOr<Buffer> allocate_temporary(size_t bytes);
  // As allocate(), for what is written whole at once.
  static StatusOr<Buffer> allocate_populated(size_t bytes);
  // All zero. Large ones take no memory of the system where nothing was written yet.
  static StatusOr<Buffer> allocate_zeros(size_t bytes);

  char* data() const {
    return data_.get();
  }
  size_t size() const {
    return size_;
  }

 private:
  struct Free {
    void operator()(char*) const {
      std::free(block);
    }
    void* block; // that the data is in; null: the owner frees it
  };
  std::shared_ptr<const void> owner_;
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

// A table in a Buffer.
template <typename T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);

 public:
  // Makes it `size` elements, all T(). If that fails with MemoryAllocationFailed it has none.
  Status assign(size_t size) {
    size_ = 0;
    ETX_CHECK(
        size <= std::numeric_limits<size_t>::max() / sizeof(T),
        MemoryAllocationFailed,
        "there is no memory for %zu elements",
        size);
    if (buffer_.data() == nullptr || buffer_.size() < size * sizeof(T)) {
      buffer_ = Buffer(); // frees the old memory before there is new
      ETX_ASSIGN_OR_RETURN(buffer_, Buffer::allocate(size * sizeof(T)));
    }
    std::uninitialized_value_construct_n(data(), size);
    size_ = size;
    return {};
  }

  size_t size() const {
    return size_;
  }
  bool empty() const {
    return size_ == 0;
  }
  T* data() {
    return reinterpret_cast<T*>(buffer_.data());
  }
  const T* data() const {
    return reinterpret_cast<const T*>(buffer_.data());
  }
  T& operator[](size_t i) {
    return data()[i];
  }
  const T& operator[](size_t i) const {
    return data()[i];
  }
  T* begin() {
    return data();
  }
  T* end() {
    return data() + size_;
  }
  const T* begin() const {
    return data();
  }
  const T* end() const {
    return data() + size_;
  }

 private:
  Buffer buffer_;
  size_t size_ = 0;
};

// A piece of memory that is needed from step `first` to step `last`, both included.
struct Lifetime {
  size_t bytes;
  size_t first;
  size_t last;
};

// Offsets for all pieces in one arena so that those alive together do not overlap, and
// the size of the arena. Large pieces are placed first, each in the lowest gap.
struct ArenaLayout {
  std::vector<size_t> offsets;
  size_t bytes = 0;
};
ArenaLayout lay_out_arena(const std::vector<Lifetime>& pieces);

} // namespace executorch::backends::et_xnnpack
