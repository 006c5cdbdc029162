// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// Channels are packed in blocks of 64, one of 32 and ones of 16, the last of which may be filled up. The weights of a
// block are four vectors for each four rows of the window, of which the last ones may be zero, and each column. Vector
// j has the channels 16 g + 4 j + i, for all g and i from 0 to 3, each with its four rows: so vectors of four rows of
// an image lie when their bytes are interleaved.
constexpr size_t kMaxWindowRows = 8;
constexpr size_t kMaxBlock = 64; // channels

constexpr size_t block_size(size_t channels_left) {
  return channels_left >= 64 ? 64 : channels_left >= 32 ? 32 : 16;
}

constexpr size_t padded_channels(size_t channels) {
  return round_up(channels, 16);
}

constexpr size_t quads_of(size_t window_rows) {
  return (window_rows + 3) / 4;
}

// Where channel `i` of a block is among its channels.
constexpr size_t place_in_block(size_t i, size_t block) {
  return i % 16 / 4 * (block / 4) + i / 16 * 4 + i % 4;
}

// Of a block, for the channel at `place`.
constexpr size_t weight_index(size_t row, size_t column, size_t columns, size_t block, size_t place) {
  return (row / 4 * columns + column) * 4 * block + place * 4 + row % 4;
}

// Calls function(begin of the block, its size, place in it) for each channel in turn.
template <typename Function>
void for_each_channel(size_t channels, const Function& function) {
  for (size_t begin = 0; begin < channels;) {
    const size_t block = block_size(channels - begin);
    for (size_t i = 0; i < std::min(block, channels - begin); ++i) {
      function(begin, block, place_in_block(i, block));
    }
    begin += block;
  }
}

// A row of the output of one image.
struct Int8DepthwiseRow {
  const int8_t* input[kMaxWindowRows]; // for each row of the window that of the image, or `outside`
  size_t pixel_step[kMaxWindowRows]; // 0 outside
  const int8_t* outside; // a pixel that stands for 0, and kMaxBlock bytes more
  size_t channels;
  size_t input_width, output_width;
  size_t kernel_height, kernel_width, stride, padding; // the last two of columns
  const int8_t* weight;
  const int32_t* offsets; // what sums begin with; these and scales are in the order of packed weights
  const float* scales;
  int8_t zero_point, min, max;
  int8_t* output;

  size_t weight_bytes(size_t block) const {
    return quads_of(kernel_height) * kernel_width * 4 * block;
  }
  const int8_t* pixel(size_t window_row, size_t column, size_t channel) const {
    return (column < input_width ? input[window_row] + column * pixel_step[window_row] : outside) + channel;
  }
};

} // namespace executorch::backends::et_xnnpack
