// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "checksum.h"

#include <algorithm>
#include <array>

#include "runtime/base/hash.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {

uint64_t checksum(const void* data, size_t size, pthreadpool_t pool) {
  return checksums({{static_cast<const char*>(data), size}}, pool)[0];
}

std::vector<uint64_t> checksums(const std::vector<Span<const char>>& parts, pthreadpool_t pool) {
  struct Chunk {
    size_t part;
    Span<const char> bytes;
    uint64_t sum;
  };
  std::array<Chunk, 512> chunks; // that threads work on together
  size_t count = 0;
  std::vector<uint64_t> results;
  const auto finish = [&] {
    parallel_for(pool, count, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        chunks[i].sum = hash(chunks[i].bytes.data(), chunks[i].bytes.size());
      }
    });
    for (size_t i = 0; i < count; ++i) {
      uint64_t& result = results[chunks[i].part];
      const uint64_t both[] = {result, chunks[i].sum};
      result = hash(both, sizeof(both));
    }
    count = 0;
  };
  for (const Span<const char>& part : parts) {
    results.push_back(part.size());
    for (size_t i = 0; i < part.size(); i += kChecksumChunk) {
      chunks[count++] = {results.size() - 1, {part.data() + i, std::min(kChecksumChunk, part.size() - i)}, 0};
      if (count == chunks.size()) {
        finish();
      }
    }
  }
  finish();
  return results;
}

} // namespace executorch::backends::et_xnnpack
