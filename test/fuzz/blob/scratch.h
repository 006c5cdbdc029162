// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Memory that is given back all at once. A sanitizer watches every other allocation, which took most of the time of a
// mutation; that of what is tested stays watched.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace executorch::backends::et_xnnpack::testing {

class Scratch {
 public:
  // What is allocated while one of these lives is gone with the outermost one. One thread only.
  Scratch() {
    ++g_depth;
  }
  ~Scratch() {
    if (--g_depth == 0) {
      g_block = 0;
      g_used = 0;
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  static void* allocate(size_t bytes) {
    constexpr size_t kAlignment = alignof(std::max_align_t);
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (g_block < g_blocks.size() && g_used + bytes > g_blocks[g_block].bytes) {
      ++g_block;
      g_used = 0;
    }
    if (g_block == g_blocks.size()) {
      const size_t size = std::max(bytes, size_t{1} << 20);
      g_blocks.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size});
    }
    std::byte* const data = g_blocks[g_block].data.get() + g_used;
    g_used += bytes;
    return data;
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    size_t bytes;
  };

  static inline std::vector<Block> g_blocks; // kept for the next time
  static inline size_t g_block = 0, g_used = 0; // where the next allocation begins
  static inline size_t g_depth = 0;
};

// For containers that do not outlive the Scratch that they were made under.
template <typename T>
struct ScratchAllocator {
  using value_type = T;

  ScratchAllocator() = default;
  template <typename U>
  ScratchAllocator(const ScratchAllocator<U>& /*other*/) {}

  T* allocate(size_t count) {
    return static_cast<T*>(Scratch::allocate(count * sizeof(T)));
  }
  void deallocate(T* /*data*/, size_t /*count*/) {}

  template <typename U>
  bool operator==(const ScratchAllocator<U>& /*other*/) const {
    return true;
  }
  template <typename U>
  bool operator!=(const ScratchAllocator<U>& /*other*/) const {
    return false;
  }
};

template <typename T>
using ScratchVector = std::vector<T, ScratchAllocator<T>>;

} // namespace executorch::backends::et_xnnpack::testing
