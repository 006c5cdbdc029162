// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// Output channels are packed in panels of 32, the last of which has 16 if that is enough, and filled up with zeros. A panel
// has for every kQuad input channels those weights of each output channel, one beside the other.
constexpr size_t kQuad = 4, kHalfPanel = 16, kPanel = 2 * kHalfPanel;
constexpr size_t kTilePixels = 8; // at most that are multiplied at once

constexpr size_t panel_width(size_t channels_left) {
  return channels_left > kHalfPanel ? kPanel : kHalfPanel;
}

constexpr size_t padded_channels_of_panels(size_t channels) {
  return round_up(channels, kHalfPanel);
}

// Where channel `i` of a panel is among its channels: two vectors of sums then lie in order when they are made one of 16 bits.
constexpr size_t place_in_panel(size_t i, size_t width) {
  return width == kHalfPanel ? i : i % 8 / 4 * kHalfPanel + i / 8 * 4 + i % 4;
}

// Calls function(begin of the panel, its width, place in it) for each channel in turn.
template <typename Function>
void for_each_channel_of_panels(size_t channels, const Function& function) {
  for (size_t begin = 0; begin < channels; begin += kPanel) {
    const size_t width = panel_width(channels - begin);
    for (size_t i = 0; i < std::min(width, channels - begin); ++i) {
      function(begin, width, place_in_panel(i, width));
    }
  }
}

// Pixels side by side, each to be multiplied by all panels.
struct Int8Pixels {
  const int8_t* input;
  size_t depth; // channels of the input, a multiple of kQuad
  const int8_t* panels;
  size_t channels; // of the output
  const int32_t* offsets; // what sums begin with; these and scales are in the order of packed weights
  const float* scales;
  int8_t zero_point, min, max;
  int8_t* output;
};

} // namespace executorch::backends::et_xnnpack
