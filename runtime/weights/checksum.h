// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/span.h>
#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// The sum is made of the hashes of pieces of this many bytes, the last one shorter.
constexpr size_t kChecksumChunk = 256 << 10;

// Finds damage, not forgery: of 2^64 changes one does not change it. As fast as memory. Does not depend on `pool`, whose
// threads share the work; null: the calling thread.
uint64_t checksum(const void* data, size_t size, pthreadpool_t pool = nullptr);

// Those of several pieces of memory.
std::vector<uint64_t> checksums(const std::vector<Span<const char>>& parts, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
