// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd_layer.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack {

WinogradSchedule schedule_winograd(const WinogradLayer& layer, size_t num_threads, const Caches& caches) {
  constexpr size_t kFewTiles = 12, kManyTiles = 96;
  const size_t l2 = caches.l2 / sizeof(float);
  const size_t tile = layer.input_tile_stride() + layer.product_tile_stride();
  const size_t weights = layer.transformed_weights();
  // What is left beside weights that stay in the cache; those that do not are read once for each strip.
  const size_t room = weights < l2 / 2 ? l2 - weights - l2 / 8 : l2 / 4 * 3;
  const size_t most = std::min(kManyTiles, std::max(kFewTiles, room / tile));
  const size_t tiles = std::max<size_t>(layer.tiles(), 1);
  WinogradSchedule schedule;
  const size_t of_thread = divide_up(tiles, num_threads);
  schedule.shares_strips = num_threads > 1 && (of_thread < kFewTiles || (weights > l2 / 2 && of_thread < most));
  const size_t wanted = schedule.shares_strips ? tiles : of_thread;
  const size_t strips = divide_up(wanted, most);
  schedule.strip = divide_up(wanted, strips);
  if (schedule.shares_strips) {
    const size_t tasks = 2 * num_threads;
    const size_t blocks = divide_up(schedule.strip, kFewTiles);
    schedule.parts = std::min(blocks, divide_up(tasks, layer.panels()));
  }
  return schedule;
}

} // namespace executorch::backends::et_xnnpack
