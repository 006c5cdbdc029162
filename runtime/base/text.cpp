// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "text.h"

#include <cstdint>

namespace executorch::backends::et_xnnpack {
namespace {

struct Sequence {
  size_t bytes; // 0: none begins with this byte
  uint32_t bits; // of the character, in the first byte
  uint32_t least; // character that needs as many bytes
};

Sequence sequence_from(uint8_t first) {
  if (first < 0x80) {
    return {1, first, 1};
  }
  if ((first & 0xE0) == 0xC0) {
    return {2, first & 0x1Fu, 0x80};
  }
  if ((first & 0xF0) == 0xE0) {
    return {3, first & 0x0Fu, 0x800};
  }
  if ((first & 0xF8) == 0xF0) {
    return {4, first & 0x07u, 0x10000};
  }
  return {};
}

} // namespace

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= ' ' && byte <= '~') {
      result += c;
    } else {
      result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

bool is_name(std::string_view text) {
  constexpr uint32_t kSurrogates = 0xD800, kAfterSurrogates = 0xE000, kLast = 0x10FFFF;
  for (size_t i = 0; i < text.size();) {
    auto [bytes, character, least] = sequence_from(static_cast<uint8_t>(text[i]));
    if (bytes == 0 || bytes > text.size() - i) {
      return false;
    }
    for (size_t k = 1; k < bytes; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if ((next & 0xC0) != 0x80) {
        return false;
      }
      character = character << 6 | (next & 0x3Fu);
    }
    if (character < least || character > kLast || (character >= kSurrogates && character < kAfterSurrogates)) {
      return false;
    }
    i += bytes;
  }
  return true;
}

} // namespace executorch::backends::et_xnnpack
