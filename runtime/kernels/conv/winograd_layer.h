// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/base/caches.h"
#include "runtime/base/dtype.h"
#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

constexpr size_t kWinogradTaps = 9;

// What the parts of WinogradConv, of any instruction set, know of a layer. Sizes are in floats.
//
// The packed weight is a panel after the other of two vectors of output channels; the last one may have one vector. In
// a panel: positions of the tile, input channels, output channels. Behind all of them lie the weights that are not
// transformed, in the same order with taps for positions.
struct WinogradLayer {
  size_t tile = 2; // rows and columns of a tile of the output
  size_t lanes = 1; // of a vector
  size_t images = 0, height = 0, width = 0, channels = 0;
  size_t output_height = 0, output_width = 0, output_channels = 0;
  size_t top = 0, left = 0; // padding
  float min = 0, max = 0;
  DType input_type = DType::Float32; // or BFloat16
  const void* input = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr; // may be null
  float* output = nullptr;
  size_t first_output_row = 0; // of those of all images, which is at `output`

  size_t tiles_down() const {
    return divide_up(output_height, tile);
  }
  size_t tiles_across() const {
    return divide_up(output_width, tile);
  }
  size_t tiles() const {
    return images * tiles_down() * tiles_across();
  }
  // Of the rows of the output of all images, the one with which this row of tiles begins, or their number.
  size_t output_row_of(size_t row_of_tiles) const {
    return row_of_tiles / tiles_down() * output_height + row_of_tiles % tiles_down() * tile;
  }
  size_t output_line() const {
    return output_width * output_channels;
  }
  float* pixel_of_output(size_t image, size_t row, size_t column) const {
    return output + ((image * output_height + row - first_output_row) * output_width + column) * output_channels;
  }
  size_t positions() const {
    return (tile + 2) * (tile + 2);
  }
  size_t panel_columns() const {
    return 2 * lanes;
  }
  size_t panels() const {
    return divide_up(output_channels, panel_columns());
  }
  // Those of a panel: all that it has, or one vector.
  size_t columns_of(size_t panel) const {
    return output_channels - panel * panel_columns() > lanes ? panel_columns() : lanes;
  }
  size_t weights_of_position() const {
    return round_up(output_channels, lanes) * channels;
  }
  size_t transformed_weights() const {
    return positions() * weights_of_position();
  }
  size_t packed_weights() const {
    return transformed_weights() + kWinogradTaps * weights_of_position();
  }

  // From one position of a transformed tile of the image to the next, and from tile to tile: an odd number of cache
  // lines, so that the rows of a product do not meet in the same sets of a cache.
  size_t input_stride() const {
    return round_up(channels, lanes);
  }
  size_t input_tile_stride() const {
    return odd_lines(positions() * input_stride());
  }
  size_t product_tile_stride() const {
    return odd_lines(positions() * panel_columns());
  }

 private:
  static constexpr size_t odd_lines(size_t floats) {
    constexpr size_t kLine = 16;
    const size_t lines = divide_up(floats, kLine);
    return (lines + (lines % 2 == 0 ? 1 : 0)) * kLine;
  }
};

// Where a tile begins, and what of it is inside of the image and the output.
struct TilePlace {
  size_t image, row, column; // the first pixel of the output
  size_t rows, columns; // of the output
  size_t first_row, end_row, first_column, end_column; // of the tile, whose pixels are in the image

  TilePlace(const WinogradLayer& layer, size_t tile) {
    const size_t across = layer.tiles_across(), down = layer.tiles_down();
    image = tile / across / down;
    row = tile / across % down * layer.tile;
    column = tile % across * layer.tile;
    rows = std::min(layer.tile, layer.output_height - row);
    columns = std::min(layer.tile, layer.output_width - column);
    limit(row, layer.top, layer.height, layer.tile + 2, first_row, end_row);
    limit(column, layer.left, layer.width, layer.tile + 2, first_column, end_column);
  }

 private:
  static void limit(size_t start, size_t padding, size_t image_size, size_t count, size_t& first, size_t& end) {
    first = std::min(count, padding > start ? padding - start : 0);
    end = std::max(first, std::min(count, image_size + padding > start ? image_size + padding - start : 0));
  }
};

// How the tiles of a layer are divided. A strip of tiles is transformed and multiplied while it is in the cache.
struct WinogradSchedule {
  size_t strip = 0; // tiles
  // Whether all threads work on the same strip, each with other weights; else each has strips of its own.
  bool shares_strips = false;
  size_t parts = 1; // of the tiles of a strip that is shared, in which they are multiplied

  size_t strips(size_t tiles) const {
    return divide_up(tiles, strip);
  }
  // The first tile of strip i, of all tiles.
  size_t first_of(size_t i, size_t tiles) const {
    return tiles * i / strips(tiles);
  }
};

WinogradSchedule schedule_winograd(const WinogradLayer& layer, size_t num_threads, const Caches& caches);

} // namespace executorch::backends::et_xnnpack
