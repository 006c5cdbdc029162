// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "memory.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>

#include <xnnpack.h>

#include "huge_page_arena.h"
#include "pages.h"
#include "round_up.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr uintptr_t kPageBytes = 4096; // the smallest of any system

// Below, memory mostly comes from what was freed and has its pages.
constexpr size_t kPopulatedBytes = 16 << 10;

// Below, malloc finds a place sooner than the system makes one.
[[maybe_unused]] constexpr size_t kMappedBytes = 256 << 10;

// Asks for huge pages behind the first ones of memory that has none yet. Reading through it then takes few entries of
// the TLB; what little is written of it stays in small pages.
void ask_for_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kHugePageBytes = HugePageArena::kHugePageBytes;
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = round_up(address + kHugePageBytes / 2, kHugePageBytes);
  const uintptr_t end = (address + bytes) / kHugePageBytes * kHugePageBytes;
  const SavedErrno saved;
  if (begin < end) {
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE); // fails where there are none
  }
#endif
}

} // namespace

bool is_tail_readable(const void* data, size_t bytes, size_t tail) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + bytes;
  return bytes > 0 && (end - 1) / kPageBytes == (end - 1 + tail) / kPageBytes;
}

void populate([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (bytes < kPopulatedBytes) {
    return;
  }
  const uintptr_t page = page_bytes();
  const uintptr_t address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = round_up(address, page);
  const uintptr_t end = (address + bytes) / page * page;
  const SavedErrno saved;
  if (begin < end) {
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE); // Linux before 5.14 has none
  }
#endif
}

StatusOr<Buffer> Buffer::allocate(size_t bytes) {
  Buffer buffer;
  const size_t total = round_up_to_alignment(bytes + kTailBytes);
  if (total >= bytes) {
    void* const block = std::aligned_alloc(kAlignment, total);
    buffer.data_ = {static_cast<char*>(block), Free{block}};
  }
  ETX_CHECK(buffer.data_ != nullptr, MemoryAllocationFailed, "there is no memory for %zu bytes", bytes);
  buffer.size_ = bytes;
  return buffer;
}

StatusOr<Buffer> Buffer::allocate_temporary(size_t bytes) {
#if defined(__linux__)
  const size_t total = bytes + kTailBytes;
  if (bytes >= kMappedBytes && total > bytes) {
    void* const memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ETX_CHECK(memory != MAP_FAILED, MemoryAllocationFailed, "there is no memory for %zu bytes", bytes);
    const auto unmap = [total](void* mapped) { munmap(mapped, total); };
    return Buffer(static_cast<char*>(memory), bytes, std::shared_ptr<void>(memory, unmap));
  }
#endif
  return allocate(bytes);
}

StatusOr<Buffer> Buffer::allocate_populated(size_t bytes) {
  ETX_ASSIGN_OR_RETURN(Buffer buffer, allocate(bytes));
  populate(buffer.data(), bytes);
  return buffer;
}

StatusOr<Buffer> Buffer::allocate_zeros(size_t bytes) {
  Buffer buffer;
  size_t total = bytes + kTailBytes + kAlignment;
  if (total >= bytes) {
    void* const block = std::calloc(total, 1);
    void* data = block;
    buffer.data_ = {static_cast<char*>(std::align(kAlignment, bytes, data, total)), Free{block}};
    ask_for_huge_pages(buffer.data(), buffer.data() == nullptr ? 0 : bytes);
  }
  ETX_CHECK(buffer.data_ != nullptr, MemoryAllocationFailed, "there is no memory for %zu bytes", bytes);
  buffer.size_ = bytes;
  return buffer;
}

namespace {

// Pieces by when they live, so that those alive together with one are found without a look at all others.
class LivingPieces {
 public:
  explicit LivingPieces(size_t steps) : steps_(steps), during_(2 * steps), from_(steps) {}

  void add(size_t piece, const Lifetime& life) {
    from_[life.first].push_back(piece);
    // A segment tree: the fewest nodes that have just these steps below them.
    for (size_t begin = life.first + steps_, end = life.last + 1 + steps_; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) {
        during_[begin++].push_back(piece);
      }
      if (end % 2 == 1) {
        during_[--end].push_back(piece);
      }
    }
  }

  // Those that are alive when it begins, and those that begin while it lives.
  void find(const Lifetime& life, std::vector<size_t>& found) const {
    found.clear();
    const auto append = [&found](const std::vector<size_t>& pieces) {
      found.insert(found.end(), pieces.begin(), pieces.end());
    };
    for (size_t node = life.first + steps_; node > 0; node /= 2) {
      append(during_[node]);
    }
    for (size_t step = life.first + 1; step <= life.last; ++step) {
      append(from_[step]);
    }
  }

 private:
  size_t steps_;
  std::vector<std::vector<size_t>> during_; // by node of the tree
  std::vector<std::vector<size_t>> from_; // by step
};

} // namespace

ArenaLayout lay_out_arena(const std::vector<Lifetime>& pieces) {
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return pieces[a].bytes != pieces[b].bytes ? pieces[a].bytes > pieces[b].bytes : a < b;
  });
  size_t steps = 0;
  for (const Lifetime& life : pieces) {
    steps = std::max(steps, life.last + 1);
  }

  ArenaLayout layout;
  layout.offsets.resize(pieces.size());
  LivingPieces placed(steps);
  std::vector<size_t> others;
  for (const size_t piece : order) {
    const Lifetime& life = pieces[piece];
    const size_t bytes = round_up_to_alignment(life.bytes + kTailBytes);
    placed.find(life, others);
    std::sort(others.begin(), others.end(), [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; });
    size_t offset = 0;
    for (const size_t other : others) {
      if (layout.offsets[other] >= offset + bytes) {
        break;
      }
      offset = std::max(offset, layout.offsets[other] + round_up_to_alignment(pieces[other].bytes + kTailBytes));
    }
    layout.offsets[piece] = offset;
    layout.bytes = std::max(layout.bytes, offset + bytes);
    placed.add(piece, life);
  }
  return layout;
}

} // namespace executorch::backends::et_xnnpack
