// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd.h"

#include <algorithm>

#include "runtime/base/memory.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

WinogradLayer layer_of(const WinogradParameters& p) {
  WinogradLayer layer;
  layer.tile = p.tile;
  layer.lanes = winograd_lanes();
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
    const size_t tiles = (schedule.strip + schedule.parts - 1) / schedule.parts;
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
  return "Winograd tiles of " + std::to_string(p.tile) + ", vectors of " + std::to_string(winograd_lanes());
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

void WinogradConv::run(const KernelArguments& arguments) {
  WinogradLayer layer = layer_;
  layer.input = arguments.input<float>(0);
  layer.weight = arguments.input<float>(1);
  layer.bias = arguments.input<float>(2);
  layer.output = arguments.output<float>(0);
  const size_t tiles = layer.tiles(), panels = layer.panels();
  if (tiles == 0) {
    return;
  }
  const Scratch parts(layer, schedule_);
  char* const scratch = static_cast<char*>(arguments.scratch);
  const size_t strips = (tiles + schedule_.strip - 1) / schedule_.strip;
  const auto first_of = [&](size_t strip) { return tiles * strip / strips; };
  if (!schedule_.shares_strips) {
    parallel_for_with_thread(arguments.pool, strips, [&](size_t thread, size_t strip) {
      char* const own = scratch + thread * parts.end;
      float* const inputs = reinterpret_cast<float*>(own);
      bool* const is_direct = reinterpret_cast<bool*>(own + parts.is_direct);
      const size_t first = first_of(strip), count = first_of(strip + 1) - first;
      transform_(layer, first, count, inputs, is_direct);
      for (size_t panel = 0; panel < panels; ++panel) {
        multiply_(layer, first, count, panel, inputs, is_direct, reinterpret_cast<float*>(own + parts.products));
      }
    });
    return;
  }
  float* const inputs = reinterpret_cast<float*>(scratch);
  bool* const is_direct = reinterpret_cast<bool*>(scratch + parts.is_direct);
  for (size_t strip = 0; strip < strips; ++strip) {
    const size_t first = first_of(strip), count = first_of(strip + 1) - first;
    parallel_for(arguments.pool, count, 1, [&](size_t begin, size_t end) {
      transform_(layer, first + begin, end - begin, inputs + begin * layer.input_tile_stride(), is_direct + begin);
    });
    const size_t pieces = std::min(schedule_.parts, count);
    parallel_for_with_thread(arguments.pool, panels * pieces, [&](size_t thread, size_t i) {
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

} // namespace executorch::backends::et_xnnpack
