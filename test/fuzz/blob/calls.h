// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What a fuzzer decides beside a blob: options, data and the sizes of calls.

#include <cstdint>
#include <cstring>
#include <vector>

namespace executorch::backends::et_xnnpack::testing {

// A file of the fuzzer: a blob, and behind it, if the blob is to be called in a way of its own, bytes that say so, their
// number in one byte, and a mark. Any blob is such a file.
struct Attempt {
  std::vector<uint8_t> blob;
  // The first one holds options, the next the seed of the data; each size of each call takes one more.
  std::vector<uint8_t> calls;

  static constexpr char kMark[] = {'C', 'A', 'L', 'L'};
  static constexpr size_t kMaxCalls = 255;

  static Attempt read(const uint8_t* bytes, size_t size) {
    const size_t end = sizeof(kMark) + 1;
    size_t calls = 0;
    if (size < end || std::memcmp(bytes + size - sizeof(kMark), kMark, sizeof(kMark)) != 0 ||
        (calls = bytes[size - end]) + end > size) {
      return {{bytes, bytes + size}, {}};
    }
    const uint8_t* const begin = bytes + size - end - calls;
    return {{bytes, begin}, {begin, begin + calls}};
  }

  std::vector<uint8_t> write() const {
    std::vector<uint8_t> bytes = blob;
    if (!calls.empty()) {
      bytes.insert(bytes.end(), calls.begin(), calls.end());
      bytes.push_back(static_cast<uint8_t>(calls.size()));
      bytes.insert(bytes.end(), std::begin(kMark), std::end(kMark));
    }
    return bytes;
  }
};

} // namespace executorch::backends::et_xnnpack::testing
