// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "memory.h"
#include "mutex.h"

namespace executorch::backends::et_xnnpack {

// Buffers that are allocated one by one, live long and are read again and again: packed weights. Where the system has
// huge pages for whoever asks (Linux) they lie one behind the other in such, so that reading them all takes few entries
// of the TLB. There they are parts of chunks, which live as long as one of their buffers; a buffer that goes earlier
// gives its pages back, and nothing takes its place.
//
// Little memory is not worth a huge page: the first kHugePageBytes are ordinary Buffers, and so is everything where
// there are no huge pages or no room for a chunk. While buffers are allocated, the last huge page of each chunk is
// taken whole: less than kHugePageBytes of kChunkBytes are unused. When the arena goes, what it has not used is given
// back, but for at most 1/16 of a chunk that keeps a huge page whole.
//
// Thread-safe. Buffers may go on any thread, before or after the arena, and take no lock.
class HugePageArena {
 public:
  static constexpr size_t kHugePageBytes = 2 << 20;
  static constexpr size_t kChunkBytes = 32 << 20; // more for a larger buffer

  HugePageArena() = default;
  HugePageArena(const HugePageArena&) = delete;
  HugePageArena& operator=(const HugePageArena&) = delete;
  ~HugePageArena();

  // As Buffer::allocate().
  StatusOr<Buffer> allocate(size_t bytes);

 private:
  struct Chunk;
  struct Piece;

  // A place in a chunk; null if there is none.
  char* take(size_t bytes, Piece& piece);

  TableMutex mutex_; // guards all below
  std::vector<std::shared_ptr<Chunk>> chunks_;
  size_t ordinary_bytes_ = 0;
  bool has_huge_pages_ = true; // as far as known
};

} // namespace executorch::backends::et_xnnpack
