// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd.h"

#include <algorithm>

#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/isa.h"

namespace executorch::backends::et_xnnpack {
namespace {

WinogradLayer layer_of(const WinogradParameters& p) {
  WinogradLayer layer;
  layer.tile = p.tile;
  layer.lanes = float_lanes();
  layer.input_type = p.input_type;
  layer.images = p.input[0];
  layer.height = p.input[1];
  layer.width = p.input[2];
  layer.channels = p.input[3];
  layer.output_height = p.output[1];
  layer.output_width = p.output[2];
  layer.output_channels = p.output[3];
  layer.top = p.height.padding;
  layer.left = p.width.padding;
  layer.min = p.min;
  layer.max = p.max;
  return layer;
}

// Parts of the scratch memory, in bytes: transformed tiles, which of them are computed directly, products.
struct Scratch {
  size_t is_direct, products, end; // of one thread; the first two, with the tiles, of all if they share strips

  Scratch(const WinogradLayer& layer, const WinogradSchedule& schedule) {
    const size_t tiles = divide_up(schedule.strip, schedule.parts);
    is_direct = round_up_to_alignment(schedule.strip * layer.input_tile_stride() * sizeof(float));
    products = is_direct + round_up_to_alignment(schedule.strip);
    end = products + product_bytes(layer, tiles);
  }
  static size_t product_bytes(const WinogradLayer& layer, size_t tiles) {
    return round_up_to_alignment(tiles * layer.product_tile_stride() * sizeof(float));
  }
};

} // namespace

std::optional<std::string> WinogradConv::packed_layout(const WinogradParameters& p, size_t i) {
  if (i != 1) {
    return std::nullopt;
  }
  return "Winograd tiles of " + std::to_string(p.tile) + ", vectors of " + std::to_string(float_lanes());
}

size_t WinogradConv::packed_bytes(const WinogradParameters& p, size_t /*i*/) {
  return layer_of(p).packed_weights() * sizeof(float);
}

Status WinogradConv::pack(const WinogradParameters& p, size_t /*i*/, const void* original, void* packed) {
  pack_winograd(layer_of(p), static_cast<const float*>(original), static_cast<float*>(packed));
  return {};
}

size_t WinogradConv::reshape(const WinogradParameters& p, size_t num_threads) {
  layer_ = layer_of(p);
  schedule_ = schedule_winograd(layer_, num_threads, p.caches);
  const Scratch scratch(layer_, schedule_);
  return schedule_.shares_strips ? scratch.products + num_threads * (scratch.end - scratch.products)
                                 : num_threads * scratch.end;
}

WinogradLayer WinogradConv::bound_layer(const KernelArguments& arguments) const {
  WinogradLayer layer = layer_;
  layer.input = arguments.input<void>(0);
  layer.weight = arguments.input<float>(1);
  layer.bias = arguments.input<float>(2);
  return layer;
}

void WinogradConv::run(const KernelArguments& arguments) {
  if (layer_.tiles() == 0) {
    return;
  }
  WinogradLayer layer = bound_layer(arguments);
  layer.output = arguments.output<float>(0);
  if (schedule_.shares_strips) {
    run_shared_strips(arguments, layer);
  } else {
    run_own_strips(arguments, [&](size_t, size_t, size_t, const auto& compute) { compute(layer); });
  }
}

// Calls function(thread, first, count, compute) for each strip, whose compute(layer) writes the output of tiles
// [first, first + count).
template <typename Function>
void WinogradConv::run_own_strips(const KernelArguments& arguments, const Function& function) const {
  const size_t tiles = layer_.tiles();
  const Scratch parts(layer_, schedule_);
  parallel_for_with_thread(arguments.pool, schedule_.strips(tiles), [&](size_t thread, size_t strip) {
    const size_t first = schedule_.first_of(strip, tiles), count = schedule_.first_of(strip + 1, tiles) - first;
    function(thread, first, count, [&](const WinogradLayer& layer) {
      char* const own = static_cast<char*>(arguments.scratch) + thread * parts.end;
      float* const inputs = reinterpret_cast<float*>(own);
      bool* const is_direct = reinterpret_cast<bool*>(own + parts.is_direct);
      transform_(layer, first, count, inputs, is_direct);
      for (size_t panel = 0; panel < layer.panels(); ++panel) {
        multiply_(layer, first, count, panel, inputs, is_direct, reinterpret_cast<float*>(own + parts.products));
      }
    });
  });
}

void WinogradConv::run_shared_strips(const KernelArguments& arguments, const WinogradLayer& layer) const {
  const size_t tiles = layer.tiles();
  const Scratch parts(layer, schedule_);
  char* const scratch = static_cast<char*>(arguments.scratch);
  float* const inputs = reinterpret_cast<float*>(scratch);
  bool* const is_direct = reinterpret_cast<bool*>(scratch + parts.is_direct);
  for (size_t strip = 0; strip < schedule_.strips(tiles); ++strip) {
    const size_t first = schedule_.first_of(strip, tiles), count = schedule_.first_of(strip + 1, tiles) - first;
    parallel_for(arguments.pool, count, 1, [&](size_t begin, size_t end) {
      transform_(layer, first + begin, end - begin, inputs + begin * layer.input_tile_stride(), is_direct + begin);
    });
    const size_t pieces = std::min(schedule_.parts, count);
    parallel_for_with_thread(arguments.pool, layer.panels() * pieces, [&](size_t thread, size_t i) {
      const size_t begin = count * (i % pieces) / pieces, end = count * (i % pieces + 1) / pieces;
      multiply_(
          layer,
          first + begin,
          end - begin,
          i / pieces,
          inputs + begin * layer.input_tile_stride(),
          is_direct + begin,
          reinterpret_cast<float*>(scratch + parts.products + thread * (parts.end - parts.products)));
    });
  }
}

// Of the output, that the tiles of a strip lie in.
size_t WinogradConv::rows_of_strip() const {
  const size_t across = layer_.tiles_across();
  const size_t rows_of_tiles = across == 0 ? 0 : (schedule_.strip + across - 2) / across + 1;
  return std::min(layer_.images * layer_.output_height, rows_of_tiles * layer_.tile);
}

size_t WinogradConv::tail_bytes(size_t num_threads) const {
  const size_t rows = schedule_.shares_strips ? layer_.images * layer_.output_height : num_threads * rows_of_strip();
  return rows * layer_.output_line() * sizeof(float);
}

void WinogradConv::run_into(const KernelArguments& arguments, void* scratch, const Tail& tail) {
  if (layer_.tiles() == 0) {
    return;
  }
  WinogradLayer whole = bound_layer(arguments);
  float* const rows = static_cast<float*>(scratch);
  if (schedule_.shares_strips) {
    whole.output = rows;
    run_shared_strips(arguments, whole);
    take_all(
        tail, rows, layer_.images * layer_.output_height * layer_.output_width, layer_.output_channels, arguments.pool);
    return;
  }
  const size_t across = layer_.tiles_across(), line = layer_.output_line(), of_thread = rows_of_strip() * line;
  run_own_strips(arguments, [&](size_t thread, size_t first, size_t count, const auto& compute) {
    WinogradLayer layer = whole;
    layer.output = rows + thread * of_thread;
    layer.first_output_row = layer.output_row_of(first / across);
    compute(layer);
    for (size_t tile = first, end = first + count; tile < end;) {
      // Whole rows of tiles at once; what a strip has of others row by row of the output.
      const size_t row_of_tiles = tile / across;
      const size_t next = tile % across == 0 && tile + across <= end ? end / across * across
                                                                     : std::min(end, (row_of_tiles + 1) * across);
      const size_t begin_row = layer.output_row_of(row_of_tiles);
      const size_t end_row = layer.output_row_of(divide_up(next, across));
      const size_t column = tile % across * layer.tile;
      const size_t end_column = next % across == 0 ? layer.output_width : next % across * layer.tile;
      const auto take = [&](size_t row, size_t elements) {
        const size_t offset = row * line + column * layer.output_channels;
        tail.take(thread, offset, elements, layer.output + (offset - layer.first_output_row * line));
      };
      if (end_column - column == layer.output_width) {
        take(begin_row, (end_row - begin_row) * line);
      } else {
        for (size_t row = begin_row; row < end_row; ++row) {
          take(row, (end_column - column) * layer.output_channels);
        }
      }
      tile = next;
    }
  });
}

} // namespace executorch::backends::et_xnnpack
