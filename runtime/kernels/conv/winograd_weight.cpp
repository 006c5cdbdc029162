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

size_t vector_lanes() {
  return kLanes;
}

// weight: [OC, 3, 3, IC]
template <size_t kPairs>
void pack_layer(const WinogradLayer& layer, const float* weight, float* packed) {
  using W = Winograd<kPairs>;
  constexpr size_t kBlock = 16; // input channels
  const size_t channels = layer.channels;
  double factors[W::kSize][3];
  W::weight_factors(factors);
  for (size_t panel = 0; panel < layer.panels(); ++panel) {
    const size_t column = panel * layer.panel_columns(), columns = layer.columns_of(panel);
    float* const to = packed + column * W::kPositions * channels;
    float* const direct = packed + layer.transformed_weights() + column * kWinogradTaps * channels;
    for (size_t c = 0; c < channels; c += kBlock) {
      const size_t count = std::min(kBlock, channels - c);
      for (size_t o = 0; o < columns; ++o) {
        double taps[3][3][kBlock] = {}, lines[W::kSize][3][kBlock];
        if (column + o < layer.output_channels) {
          const float* const from = weight + (column + o) * kWinogradTaps * channels + c;
          for (size_t tap = 0; tap < kWinogradTaps; ++tap) {
            std::copy_n(from + tap * channels, count, taps[tap / 3][tap % 3]);
          }
        }
        for (size_t tap = 0; tap < kWinogradTaps; ++tap) {
          for (size_t k = 0; k < count; ++k) {
            direct[(tap * channels + c + k) * columns + o] = static_cast<float>(taps[tap / 3][tap % 3][k]);
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
          for (size_t k = 0; k < count; ++k) {
            to[(position * channels + c + k) * columns + o] = u[k];
          }
        }
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

HWY_EXPORT(vector_lanes);
HWY_EXPORT(pack_weight);

size_t winograd_lanes() {
  return ETX_DISPATCH(vector_lanes)();
}

void pack_winograd(const WinogradLayer& layer, const float* weight, float* packed) {
  ETX_DISPATCH(pack_weight)(layer, weight, packed);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
