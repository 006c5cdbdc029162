// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "huge_page_arena.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

#include "pages.h"
#include "round_up.h"

#ifdef MADV_HUGEPAGE
#define ETX_HAS_HUGE_PAGES 1
#endif

namespace executorch::backends::et_xnnpack {
namespace {

#ifdef ETX_HAS_HUGE_PAGES
// Begins at a multiple of kHugePageBytes. Null if there is no room.
char* map(size_t bytes) {
  constexpr size_t kUnit = HugePageArena::kHugePageBytes;
  void* const memory = mmap(nullptr, bytes + kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const size_t before = round_up(address, kUnit) - address;
  char* const begin = static_cast<char*>(memory) + before;
  if (before > 0) {
    munmap(memory, before);
  }
  if (before < kUnit) {
    munmap(begin + bytes, kUnit - before);
  }
  return begin;
}
#endif

} // namespace

struct HugePageArena::Chunk {
  Chunk() = default;
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  ~Chunk() {
    cut(0);
  }

  // All behind the first `length` bytes goes.
  void cut([[maybe_unused]] size_t length) {
#ifdef ETX_HAS_HUGE_PAGES
    const SavedErrno saved;
    if (length < bytes) {
      munmap(begin + length, bytes - length);
      bytes = length;
    }
#endif
  }

  void cut_unused() {
#ifdef ETX_HAS_HUGE_PAGES
    const size_t whole = round_up(used, kHugePageBytes);
    cut(whole - used <= used / 16 ? whole : round_up(used, page_bytes()));
#endif
  }

  char* begin = nullptr;
  size_t bytes = 0, used = 0;
};

// What a Buffer is of a chunk.
struct HugePageArena::Piece {
  Piece() = default;
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece() {
#ifdef ETX_HAS_HUGE_PAGES
    if (chunk.use_count() <= 1) {
      return; // all goes
    }
    const SavedErrno saved;
    const uintptr_t page = page_bytes(), address = reinterpret_cast<uintptr_t>(begin);
    const uintptr_t first = round_up(address, page), last = (address + bytes) / page * page;
    if (first < last) {
      // Or the system would make huge pages of it again.
      madvise(reinterpret_cast<void*>(first), last - first, MADV_NOHUGEPAGE);
      madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    }
#endif
  }

  std::shared_ptr<Chunk> chunk; // null: of none
  char* begin = nullptr;
  size_t bytes = 0;
};

HugePageArena::~HugePageArena() {
  for (const std::shared_ptr<Chunk>& chunk : chunks_) {
    chunk->cut_unused();
  }
}

StatusOr<Buffer> HugePageArena::allocate(size_t bytes) {
#ifdef ETX_HAS_HUGE_PAGES
  const size_t total = round_up_to_alignment(bytes + kTailBytes);
  if (bytes < std::numeric_limits<size_t>::max() / 2) {
    const auto piece = std::make_shared<Piece>();
    if (char* const data = take(total, *piece)) {
      return Buffer(data, bytes, piece);
    }
  }
#endif
  return Buffer::allocate(bytes);
}

char* HugePageArena::take([[maybe_unused]] size_t bytes, [[maybe_unused]] Piece& piece) {
#ifdef ETX_HAS_HUGE_PAGES
  const std::lock_guard<TableMutex> lock(mutex_);
  if (!has_huge_pages_) {
    return nullptr;
  }
  if (chunks_.empty() && bytes <= kHugePageBytes - ordinary_bytes_) {
    ordinary_bytes_ += bytes;
    return nullptr;
  }
  auto chunk = std::find_if(
      chunks_.begin(), chunks_.end(), [bytes](const auto& other) { return bytes <= other->bytes - other->used; });
  if (chunk == chunks_.end()) {
    const SavedErrno saved;
    const size_t length = std::max(round_up(bytes, kHugePageBytes), kChunkBytes);
    chunks_.reserve(chunks_.size() + 1);
    auto fresh = std::make_shared<Chunk>();
    fresh->begin = map(length);
    if (fresh->begin == nullptr) {
      return nullptr;
    }
    fresh->bytes = length;
    if (madvise(fresh->begin, length, MADV_HUGEPAGE) != 0) {
      has_huge_pages_ = false; // not compiled into this system
      return nullptr;
    }
    chunk = chunks_.insert(chunks_.end(), std::move(fresh));
  }
  piece.chunk = *chunk;
  piece.begin = (*chunk)->begin + (*chunk)->used;
  piece.bytes = bytes;
  (*chunk)->used += bytes;
  return piece.begin;
#else
  return nullptr;
#endif
}

} // namespace executorch::backends::et_xnnpack
