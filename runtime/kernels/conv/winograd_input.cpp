// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd_parts.h"

#include <algorithm>
#include <limits>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/winograd_input.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "winograd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Sums of squares of the pixels of a tile, by blocks of 2 x 2.
template <size_t kPairs>
struct Energy {
  static constexpr size_t kBlocks = Winograd<kPairs>::kSize / 2;
  Vector blocks[kBlocks][kBlocks];
};

// Transforms channels [channel, channel + kLanes) of a tile, of which `count` exist.
template <size_t kPairs, bool kIsInside, typename T>
HWY_INLINE void transform_channels(
    const WinogradLayer& layer,
    const TilePlace& place,
    const T* pixels, // of the first channel, where the tile begins, in the image or before it
    size_t count,
    Energy<kPairs>& energy,
    float* HWY_RESTRICT to) {
  using W = Winograd<kPairs>;
  const size_t row_stride = layer.width * layer.channels;
  Vector lines[W::kSize][W::kSize];
  HWY_UNROLL(1)
  for (size_t j = 0; j < W::kSize; ++j) {
    const bool column_inside = kIsInside || (j >= place.first_column && j < place.end_column);
    typename W::Line d, v;
    HWY_UNROLL(6)
    for (size_t i = 0; i < W::kSize; ++i) {
      if (kIsInside) {
        d[i] = load_channels(pixels + i * row_stride + j * layer.channels);
      } else if (column_inside && i >= place.first_row && i < place.end_row) {
        d[i] = load_channels(pixels + i * row_stride + j * layer.channels, count);
      } else {
        d[i] = hn::Zero(kFloats);
      }
      if constexpr (kPairs > 1) {
        Vector& sum = energy.blocks[i / 2][j / 2];
        sum = hn::MulAdd(d[i], d[i], sum);
      }
    }
    W::transform_input(d, v);
    HWY_UNROLL(6)
    for (size_t i = 0; i < W::kSize; ++i) {
      lines[i][j] = v[i];
    }
  }
  const size_t stride = layer.input_stride();
  HWY_UNROLL(1)
  for (size_t i = 0; i < W::kSize; ++i) {
    typename W::Line v;
    W::transform_input(lines[i], v);
    HWY_UNROLL(6)
    for (size_t j = 0; j < W::kSize; ++j) {
      hn::StoreU(v[j], kFloats, to + (i * W::kSize + j) * stride);
    }
  }
}

// Whether blocks that the output sees differ so much in size that the rounding of large pixels may hide small ones.
template <size_t kPairs>
HWY_INLINE bool is_uneven(const Energy<kPairs>& energy, const TilePlace& place) {
  constexpr float kLimit = 4096; // of squares
  float smallest = std::numeric_limits<float>::infinity(), largest = 0;
  for (size_t i = 0; i <= place.rows / 2; ++i) {
    for (size_t j = 0; j <= place.columns / 2; ++j) {
      const float sum = hn::ReduceSum(kFloats, energy.blocks[i][j]);
      smallest = sum < smallest ? sum : smallest;
      largest = sum <= largest ? largest : sum; // keeps NaN
    }
  }
  return !(largest <= kLimit * smallest && largest < std::numeric_limits<float>::infinity());
}

// Transforms `count` tiles from `first` on, one behind the other. is_direct: by tile, whether it must be computed as a
// sum of products.
template <size_t kPairs, typename T>
void transform_tiles(
    const WinogradLayer& layer, const T* image, size_t first, size_t count, float* to, bool* is_direct) {
  using W = Winograd<kPairs>;
  const size_t channels = layer.channels;
  for (size_t i = 0; i < count; ++i) {
    const TilePlace place(layer, first + i);
    const bool inside =
        place.first_row == 0 && place.first_column == 0 && place.end_row == W::kSize && place.end_column == W::kSize;
    // May lie before the image; only what is inside of it is read.
    const ptrdiff_t offset =
        static_cast<ptrdiff_t>(((place.image * layer.height + place.row) * layer.width + place.column) * channels) -
        static_cast<ptrdiff_t>((layer.top * layer.width + layer.left) * channels);
    const T* const pixels = image + offset;
    float* const out = to + i * layer.input_tile_stride();
    Energy<kPairs> energy;
    for (auto& row : energy.blocks) {
      for (Vector& block : row) {
        block = hn::Zero(kFloats);
      }
    }
    size_t c = 0;
    for (; inside && c + kLanes <= channels; c += kLanes) {
      transform_channels<kPairs, true>(layer, place, pixels + c, kLanes, energy, out + c);
    }
    for (; c < channels; c += kLanes) {
      const size_t rest = std::min(kLanes, channels - c);
      transform_channels<kPairs, false>(layer, place, pixels + c, rest, energy, out + c);
    }
    is_direct[i] = kPairs > 1 && is_uneven(energy, place);
  }
}

void transform_input_tiles(const WinogradLayer& layer, size_t first, size_t count, float* to, bool* is_direct) {
  with_pairs(layer.tile, [&](auto pairs) {
    with_image(layer, [&](const auto* image) {
      transform_tiles<decltype(pairs)::value>(layer, image, first, count, to, is_direct);
    });
  });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(transform_input_tiles);

TransformWinogradTiles choose_winograd_transform() {
  return ETX_DISPATCH(transform_input_tiles);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
