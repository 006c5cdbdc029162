// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "checksum.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/kernel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kLanes = 8; // enough multiplications under way
constexpr size_t kBlock = kLanes * sizeof(uint64_t);
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15; // odd, so that no step loses anything

// CPUs fetch ahead up to the end of a page only.
constexpr size_t kAhead = 4096 - kBlock;

uint64_t mix(uint64_t sum, uint64_t word) {
  const uint64_t product = (sum ^ word) * kFactor;
  return product << 29 | product >> 35;
}

void add_block(uint64_t* lanes, const unsigned char* block) {
  uint64_t words[kLanes];
  std::memcpy(words, block, kBlock);
  for (size_t i = 0; i < kLanes; ++i) {
    lanes[i] = mix(lanes[i], words[i]);
  }
}

uint64_t chunk_sum(const unsigned char* bytes, size_t size) {
  uint64_t lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    lanes[i] = mix(kFactor, i);
  }
  const size_t whole = size / kBlock * kBlock;
  for (size_t i = 0; i < whole; i += kBlock) {
    __builtin_prefetch(bytes + std::min(i + kAhead, size));
    add_block(lanes, bytes + i);
  }
  if (whole < size) {
    unsigned char rest[kBlock] = {};
    std::copy(bytes + whole, bytes + size, rest);
    add_block(lanes, rest);
  }
  uint64_t result = mix(kFactor, size);
  for (const uint64_t lane : lanes) {
    result = mix(result, lane);
  }
  return result;
}

} // namespace

uint64_t checksum(const void* data, size_t size, pthreadpool_t pool) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::vector<uint64_t> sums((size + kChecksumChunk - 1) / kChecksumChunk);
  parallel_for(pool, sums.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t offset = i * kChecksumChunk;
      sums[i] = chunk_sum(bytes + offset, std::min(kChecksumChunk, size - offset));
    }
  });
  uint64_t result = mix(kFactor, size);
  for (const uint64_t sum : sums) {
    result = mix(result, sum);
  }
  return result;
}

} // namespace executorch::backends::et_xnnpack
