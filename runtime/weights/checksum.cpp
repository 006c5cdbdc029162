// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "checksum.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/common/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/weights/checksum.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLanes = 32; // enough multiplications under way
constexpr size_t kBlock = kLanes * sizeof(uint64_t);
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15; // odd, so that no step loses anything
constexpr int kHalf = 32;

constexpr hn::CappedTag<uint64_t, 8> kWords;
using Words = hn::Vec<decltype(kWords)>;
constexpr size_t kVectorLanes = hn::MaxLanes(kWords);
constexpr size_t kVectors = kLanes / kVectorLanes;

// The product takes changes up, the shift takes them down.
uint64_t mix(uint64_t sum, uint64_t word) {
  const uint64_t both = sum ^ word;
  return (both ^ both >> kHalf) * kFactor;
}

HWY_INLINE void add_block(Words* sums, const uint64_t* block) {
  const Words factor = hn::Set(kWords, kFactor);
  for (size_t i = 0; i < kVectors; ++i) {
    const Words both = hn::Xor(sums[i], hn::LoadU(kWords, block + i * kVectorLanes));
    sums[i] = hn::Mul(hn::Xor(both, hn::ShiftRight<kHalf>(both)), factor);
  }
}

uint64_t chunk_sum(const char* bytes, size_t size) {
  Words sums[kVectors];
  for (size_t i = 0; i < kVectors; ++i) {
    sums[i] = hn::Iota(kWords, 1 + i * kVectorLanes);
  }
  const size_t whole = size / kBlock * kBlock;
  for (size_t i = 0; i < whole; i += kBlock) {
    add_block(sums, reinterpret_cast<const uint64_t*>(bytes + i));
  }
  uint64_t lanes[kLanes] = {};
  if (whole < size) {
    std::memcpy(lanes, bytes + whole, size - whole);
    add_block(sums, lanes);
  }
  for (size_t i = 0; i < kVectors; ++i) {
    hn::StoreU(sums[i], kWords, lanes + i * kVectorLanes);
  }
  uint64_t result = size;
  for (const uint64_t lane : lanes) {
    result = mix(result, lane);
  }
  return result;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(chunk_sum);
HWY_EXPORT(mix);

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
  const auto sum_of = ETX_DISPATCH(chunk_sum);
  const auto add = ETX_DISPATCH(mix);
  const auto finish = [&] {
    parallel_for(pool, count, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        chunks[i].sum = sum_of(chunks[i].bytes.data(), chunks[i].bytes.size());
      }
    });
    for (size_t i = 0; i < count; ++i) {
      uint64_t& result = results[chunks[i].part];
      result = add(result, chunks[i].sum);
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
#endif // HWY_ONCE
