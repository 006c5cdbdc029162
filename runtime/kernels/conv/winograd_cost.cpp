// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd_cost.h"

#include <algorithm>

#include "winograd_layer.h"
#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Cycles of a core that begins two vector operations in each, as an estimate: what counts is how the ways compare.
// docs/kernels.md has what was measured.

constexpr double kOperations = 2; // in a cycle
constexpr double kTileOverhead = 8; // multiplications of a vector that storing it costs

// Weights come from the memory behind a core's own caches in each call: other layers were there since the last one.
double cycles_for_weights(double floats, const Caches& caches) {
  constexpr double kSharedCacheBytes = 8, kMemoryBytes = 3; // in a cycle
  const double bytes = floats * sizeof(float);
  return bytes / (bytes <= caches.l3_share * static_cast<double>(caches.l3) ? kSharedCacheBytes : kMemoryBytes);
}

// Reading goes on while numbers are multiplied, but not all the time.
double together(double products, double weights) {
  return std::max(products, weights) + std::min(products, weights) / 2;
}

double vectors(size_t channels, size_t lanes) {
  const size_t count = divide_up(channels, lanes);
  return static_cast<double>(count);
}

double direct_cycles(const ConvParameters& p, size_t lanes, const Caches& caches, size_t bfloat16_speed) {
  const double inputs = static_cast<double>(kWinogradTaps * p.input[3]);
  const double products = static_cast<double>(p.output.numel(0, 3)) * inputs * vectors(p.output[3], lanes);
  const double floats = inputs * static_cast<double>(p.output[3]) / (bfloat16_speed > 1 ? 2 : 1);
  return together(products / kOperations / static_cast<double>(bfloat16_speed), cycles_for_weights(floats, caches));
}

double winograd_cycles(const ConvParameters& p, size_t tile, size_t lanes, const Caches& caches) {
  // Of a vector of channels of a tile.
  const double input_cycles = tile == 2 ? 45 : 140, output_cycles = tile == 2 ? 30 : 100;
  const auto count = [&](size_t size) { return divide_up(size, tile); };
  const double positions = static_cast<double>((tile + 2) * (tile + 2));
  const double tiles = static_cast<double>(p.output[0] * count(p.output[1]) * count(p.output[2]));
  const double inputs = static_cast<double>(p.input[3]), outputs = vectors(p.output[3], lanes);
  const double products = positions * tiles * (inputs + kTileOverhead) * outputs / kOperations;
  const double weights = positions * inputs * static_cast<double>(p.output[3]);
  return together(products, cycles_for_weights(weights, caches)) +
      tiles * (vectors(p.input[3], lanes) * input_cycles + outputs * output_cycles);
}

} // namespace

size_t choose_winograd_tile(
    const ConvParameters& p, size_t largest, size_t lanes, const Caches& caches, size_t bfloat16_speed) {
  const auto is_plain = [](const ConvParameters::Axis& axis) { return axis.stride == 1 && axis.dilation == 1; };
  // A window that lies outside of the image is all zeros, by whose side the pixels of others are large.
  const bool is_border_narrow =
      p.height.padding <= 1 && p.width.padding <= 1 && p.output[1] <= p.input[1] && p.output[2] <= p.input[2];
  if (p.transposed || p.groups != 1 || p.weight[1] != 3 || p.weight[2] != 3 || !is_plain(p.height) ||
      !is_plain(p.width) || !is_border_narrow || p.output.numel() == 0) {
    return 0;
  }
  // Larger tiles take more memory for weights, suffer more where others use the shared cache, and are less exact.
  constexpr double kWorthWhile = 0.8, kWorthMemory = 0.7;
  double best = kWorthWhile * direct_cycles(p, lanes, caches, bfloat16_speed);
  size_t result = 0;
  for (const size_t tile : {2, 4}) {
    const double cycles = tile <= largest ? winograd_cycles(p, tile, lanes, caches) : best;
    if (cycles < best) {
      best = kWorthMemory * cycles;
      result = tile;
    }
  }
  return result;
}

} // namespace executorch::backends::et_xnnpack
