// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd_parts.h"

#include <algorithm>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/winograd_weight.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kBlock = 16; // channels
using Block = float[kBlock][kBlock]; // of input channels, of output channels

// Writes the transformed weights of `inputs` x `outputs` channels, and the weights as they are. from: of the first ones
template <size_t kPairs>
void transform_block(
    const double (&factors)[Winograd<kPairs>::kSize][3],
    const float* from,
    size_t channels,
    size_t inputs,
    size_t outputs,
    Block* HWY_RESTRICT transformed,
    Block* HWY_RESTRICT taps_as_they_are) {
  using W = Winograd<kPairs>;
  for (size_t o = 0; o < outputs; ++o, from += kWinogradTaps * channels) {
    double taps[3][3][kBlock] = {}, lines[W::kSize][3][kBlock];
    for (size_t tap = 0; tap < kWinogradTaps; ++tap) {
      for (size_t k = 0; k < inputs; ++k) {
        const float weight = from[tap * channels + k];
        taps[tap / 3][tap % 3][k] = weight;
        taps_as_they_are[tap][k][o] = weight;
      }
    }
    for (size_t i = 0; i < W::kSize; ++i) {
      for (size_t kw = 0; kw < 3; ++kw) {
        for (size_t k = 0; k < kBlock; ++k) {
          lines[i][kw][k] =
              factors[i][0] * taps[0][kw][k] + factors[i][1] * taps[1][kw][k] + factors[i][2] * taps[2][kw][k];
        }
      }
    }
    for (size_t position = 0; position < W::kPositions; ++position) {
      const double(&line)[3][kBlock] = lines[position / W::kSize];
      const double(&factor)[3] = factors[position % W::kSize];
      float u[kBlock];
      for (size_t k = 0; k < kBlock; ++k) {
        u[k] = static_cast<float>(factor[0] * line[0][k] + factor[1] * line[1][k] + factor[2] * line[2][k]);
      }
      for (size_t k = 0; k < kBlock; ++k) {
        transformed[position][k][o] = u[k];
      }
    }
  }
}

// weight: [OC, 3, 3, IC]
template <size_t kPairs>
void pack_layer(const WinogradLayer& layer, const float* weight, float* packed) {
  using W = Winograd<kPairs>;
  const size_t channels = layer.channels;
  double factors[W::kSize][3];
  W::weight_factors(factors);
  // Those of channels that do not exist stay 0.
  Block transformed[W::kPositions] = {}, taps[kWinogradTaps] = {};
  for (size_t panel = 0; panel < layer.panels(); ++panel) {
    const size_t column = panel * layer.panel_columns(), columns = layer.columns_of(panel);
    const size_t used = std::min(columns, layer.output_channels - column);
    float* const to = packed + column * W::kPositions * channels;
    float* const direct = packed + layer.transformed_weights() + column * kWinogradTaps * channels;
    for (size_t o = 0; o < columns; o += kBlock) {
      const size_t outputs = std::min(kBlock, columns - o), existing = std::min(outputs, std::max(used, o) - o);
      if (existing < outputs) {
        std::fill_n(&transformed[0][0][0], W::kPositions * kBlock * kBlock, 0.0f);
        std::fill_n(&taps[0][0][0], kWinogradTaps * kBlock * kBlock, 0.0f);
      }
      for (size_t c = 0; c < channels; c += kBlock) {
        const size_t inputs = std::min(kBlock, channels - c);
        const float* const from = weight + (column + o) * kWinogradTaps * channels + c;
        transform_block<kPairs>(factors, from, channels, inputs, existing, transformed, taps);
        const auto copy = [&](const Block* blocks, size_t count, float* target) {
          for (size_t i = 0; i < count; ++i) {
            for (size_t k = 0; k < inputs; ++k) {
              std::copy_n(blocks[i][k], outputs, target + (i * channels + c + k) * columns + o);
            }
          }
        };
        copy(transformed, W::kPositions, to);
        copy(taps, kWinogradTaps, direct);
      }
    }
  }
}

void pack_weight(const WinogradLayer& layer, const float* weight, float* packed) {
  with_pairs(layer.tile, [&](auto pairs) { pack_layer<decltype(pairs)::value>(layer, weight, packed); });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(pack_weight);

void pack_winograd(const WinogradLayer& layer, const float* weight, float* packed) {
  ETX_DISPATCH(pack_weight)(layer, weight, packed);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
