// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// Output channels are packed in panels of `widest`, which is 64 or 32, one of 32 and one of 16, the last of which is
// filled up with zeros. A panel has for every kQuad numbers of the depth those weights of each output channel, one
// beside the other.
constexpr size_t kQuad = 4, kLeastPanel = 16;

constexpr size_t panel_width(size_t channels_left, size_t widest) {
  return channels_left >= widest ? widest : channels_left > kLeastPanel ? 32 : kLeastPanel;
}

constexpr size_t padded_channels_of_panels(size_t channels) {
  return round_up(channels, kLeastPanel);
}

// Where channel `i` of a panel is among its channels: vectors of 16 sums then lie in order when they are made one of 8
// bits.
constexpr size_t place_in_panel(size_t i, size_t width) {
  const size_t lane = width / 4; // channels in 128 bits of each of the vectors
  return i % lane / 4 * kLeastPanel + i / lane * 4 + i % 4;
}

// Calls function(begin of the panel, its width, place in it) for each channel in turn.
template <typename Function>
void for_each_channel_of_panels(size_t channels, size_t widest, const Function& function) {
  for (size_t begin = 0; begin < channels;) {
    const size_t width = panel_width(channels - begin, widest);
    for (size_t i = 0; i < std::min(width, channels - begin); ++i) {
      function(begin, width, place_in_panel(i, width));
    }
    begin += width;
  }
}

// Numbers of channels, into memory of zeros.
inline void pack_into_panels(const int32_t* from, size_t channels, size_t widest, int32_t* to) {
  for_each_channel_of_panels(
      channels, widest, [&](size_t panel, size_t /*width*/, size_t place) { to[panel + place] = *from++; });
}

// A weight [channels, rows, columns], each row of which is filled up to whole quads, and the sum of each channel, into
// memory of zeros.
inline void pack_into_panels(
    const int8_t* from, size_t channels, size_t rows, size_t columns, size_t widest, int8_t* panels, int32_t* sums) {
  const size_t depth = round_up(columns, kQuad);
  for_each_channel_of_panels(channels, widest, [&](size_t panel, size_t width, size_t place) {
    for (size_t row = 0; row < rows; ++row) {
      int8_t* const to = panels + panel * rows * depth + row * depth * width + place * kQuad;
      for (size_t k = 0; k < columns; ++k, ++from) {
        to[k / kQuad * kQuad * width + k % kQuad] = *from;
        sums[panel + place] += *from;
      }
    }
  });
}

// Divides `count` pixels into tiles of at most `most`, as even as possible, because few pixels take almost as long as many, and
// calls function(index, begin, end) for each.
template <typename Function>
void for_each_tile(size_t count, size_t most, const Function& function) {
  const size_t tiles = divide_up(count, most);
  for (size_t i = 0; i < tiles; ++i) {
    function(i, count * i / tiles, count * (i + 1) / tiles);
  }
}

// Of results.
struct Int8Range {
  int8_t zero_point, min, max;
};

} // namespace executorch::backends::et_xnnpack
