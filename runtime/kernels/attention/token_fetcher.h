// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <utility>

#include "attention_problem.h"

namespace executorch::backends::et_xnnpack {

// What some heads have of tokens, in the order in which it lies in memory.
struct TokenRange {
  const char* at = nullptr;
  const char* row_end = nullptr; // of what they have of one token
  size_t row = 0, stride = 0; // bytes
  size_t rows = 0;

  // REQUIRES: heads of a token side by side
  template <typename T>
  static TokenRange of(const AttentionRows& x, AttentionHeads heads, size_t begin, size_t end) {
    TokenRange range;
    range.at = reinterpret_cast<const char*>(static_cast<const T*>(x.data) + x.offset(heads.begin, begin));
    range.row = (heads.end - heads.begin) * x.width * sizeof(T);
    range.stride = x.token * sizeof(T);
    range.rows = end - begin;
    if (range.row == range.stride) {
      range.row *= range.rows;
      range.rows = 1;
    }
    range.row_end = range.at + range.row;
    return range;
  }
};

// Has the CPU fetch one range, piece by piece, then another one. It may be that there is nothing.
class TokenFetcher {
 public:
  TokenFetcher() = default; // fetches nothing
  TokenFetcher(const TokenRange& range, const TokenRange& next) : range_(range), next_(next) {}

  [[gnu::always_inline]] void operator()(size_t bytes) {
    if (range_.rows == 0) {
      return;
    }
    for (size_t i = 0; i < bytes; i += 64) {
      __builtin_prefetch(range_.at + i, 0, 2);
    }
    range_.at += bytes;
    if (range_.at >= range_.row_end) {
      if (--range_.rows == 0) {
        range_ = std::exchange(next_, {});
      } else {
        range_.row_end += range_.stride;
        range_.at += range_.stride - range_.row;
      }
    }
  }

 private:
  TokenRange range_, next_;
};

} // namespace executorch::backends::et_xnnpack
