// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "winograd_parts.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/winograd_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "winograd-inl.h"
#include "runtime/kernels/gemm/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// c[r][j] (+)= sum over k of a[r * a_stride + k] * b[k * N vectors + j] for R rows of N vectors. Meanwhile what is at
// `next` is fetched into the second-level cache, `next_stride` bytes further on for each k.
template <size_t R, size_t N>
HWY_NOINLINE void multiply_rows(
    const float* HWY_RESTRICT a,
    size_t a_stride,
    const float* HWY_RESTRICT b,
    size_t depth,
    bool adds,
    float* HWY_RESTRICT c,
    size_t c_stride,
    const char* next,
    size_t next_stride) {
  Vector sum[R][N];
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(2)
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = adds ? hn::LoadU(kFloats, c + r * c_stride + n * kLanes) : hn::Zero(kFloats);
    }
  }
  for (size_t k = 0; k < depth; ++k) {
    __builtin_prefetch(next, 0, 2);
    next += next_stride;
    Vector row[N];
    HWY_UNROLL(2)
    for (size_t n = 0; n < N; ++n) {
      row[n] = hn::LoadU(kFloats, b + n * kLanes);
    }
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector factor = hn::Set(kFloats, a[r * a_stride]);
      HWY_UNROLL(2)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::MulAdd(factor, row[n], sum[r][n]);
      }
    }
    ++a;
    b += N * kLanes;
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(2)
    for (size_t n = 0; n < N; ++n) {
      hn::StoreU(sum[r][n], kFloats, c + r * c_stride + n * kLanes);
    }
  }
}

using MultiplyRows = void (*)(const float*, size_t, const float*, size_t, bool, float*, size_t, const char*, size_t);

template <size_t N, size_t... kCounts>
const MultiplyRows* rows_table(std::index_sequence<kCounts...>) {
  static constexpr MultiplyRows kTable[] = {multiply_rows<kCounts + 1, N>...};
  return kTable;
}

// By number of rows less 1, up to kRows; `vectors` is 1 or 2.
HWY_INLINE const MultiplyRows* rows_table(size_t vectors) {
  using Counts = std::make_index_sequence<kRows>;
  return vectors == 1 ? rows_table<1>(Counts()) : rows_table<2>(Counts());
}

// Adds the products of `count` pixels of the image, one behind the other, by a tap of a panel of the weight.
template <typename T>
HWY_INLINE void add_tap(
    const MultiplyRows* multiply,
    const T* pixels,
    size_t count,
    size_t channels,
    const float* weight,
    size_t columns,
    float* to) {
  const auto add = [=](const float* rows, size_t stride, const float* of_rows, size_t depth) {
    const auto* const next = reinterpret_cast<const char*>(of_rows); // is there already
    multiply[count - 1](rows, stride, of_rows, depth, /*adds=*/true, to, columns, next, 0);
  };
  if constexpr (std::is_same_v<T, float>) {
    add(pixels, channels, weight, channels);
  } else {
    constexpr size_t kChannels = round_up(64, kLanes);
    float widened[kRows][kChannels];
    for (size_t c = 0; c < channels; c += kChannels) {
      const size_t depth = std::min(kChannels, channels - c);
      for (size_t r = 0; r < count; ++r) {
        for (size_t k = 0; k < depth; k += kLanes) {
          const size_t rest = std::min(kLanes, depth - k);
          hn::StoreU(load_channels(pixels + r * channels + c + k, rest), kFloats, widened[r] + k);
        }
      }
      add(widened[0], kChannels, weight + c * columns, depth);
    }
  }
}

// One panel of channels of a tile as sums of products: up to tile x tile pixels one behind the other.
template <typename T>
void multiply_directly(const WinogradLayer& layer, const T* image, const TilePlace& place, size_t panel, float* to) {
  const size_t columns = layer.columns_of(panel), channels = layer.channels;
  const float* const weight =
      layer.weight + layer.transformed_weights() + panel * layer.panel_columns() * kWinogradTaps * channels;
  const MultiplyRows* const multiply = rows_table(columns / kLanes);
  std::fill_n(to, layer.tile * layer.tile * columns, 0.0f);
  for (size_t i = 0; i < place.rows; ++i) {
    for (size_t tap = 0; tap < kWinogradTaps; ++tap) {
      const size_t kh = tap / 3, kw = tap % 3;
      if (i + kh < place.first_row || i + kh >= place.end_row) {
        continue;
      }
      const size_t first = std::max(place.first_column, kw) - kw;
      const size_t end = std::min(place.columns, std::max(place.end_column, kw) - kw);
      const size_t row = place.row + i + kh - layer.top;
      for (size_t j = first; j < end; j += kRows) {
        const size_t column = place.column + j + kw - layer.left;
        add_tap(
            multiply,
            image + ((place.image * layer.height + row) * layer.width + column) * channels,
            std::min(kRows, end - j),
            channels,
            weight + tap * columns * channels,
            columns,
            to + (i * layer.tile + j) * columns);
      }
    }
  }
}

// Adds the bias to a vector of pixels of the output, limits and stores it.
struct OutputVector {
  Vector bias, min, max;
  size_t count; // channels

  HWY_INLINE void store(Vector y, float* to) const {
    const Vector result = clamped(hn::Add(y, bias), min, max);
    if (count == kLanes) {
      hn::StoreU(result, kFloats, to);
    } else {
      hn::StoreN(result, kFloats, to, count);
    }
  }
};

// Transforms a vector of channels of a tile's products. False if a pixel of the output is not finite.
template <size_t kPairs>
HWY_INLINE bool transform_products(
    const WinogradLayer& layer,
    const TilePlace& place,
    const OutputVector& vector,
    const float* HWY_RESTRICT products,
    size_t columns,
    float* HWY_RESTRICT to) {
  using W = Winograd<kPairs>;
  Vector lines[W::kTile][W::kSize];
  HWY_UNROLL(1)
  for (size_t j = 0; j < W::kSize; ++j) {
    typename W::Line d;
    HWY_UNROLL(6)
    for (size_t i = 0; i < W::kSize; ++i) {
      d[i] = hn::LoadU(kFloats, products + (i * W::kSize + j) * columns);
    }
    Vector y[W::kTile];
    W::transform_output(d, y);
    HWY_UNROLL(4)
    for (size_t i = 0; i < W::kTile; ++i) {
      lines[i][j] = y[i];
    }
  }
  Vector zeros = hn::Zero(kFloats); // until a number is not finite
  const auto store_line = [&](size_t i, size_t count) HWY_ATTR {
    Vector y[W::kTile];
    W::transform_output(lines[i], y);
    HWY_UNROLL(4)
    for (size_t j = 0; j < W::kTile; ++j) {
      if (j < count) {
        zeros = hn::MulAdd(y[j], hn::Zero(kFloats), zeros);
        vector.store(y[j], to + (i * layer.output_width + j) * layer.output_channels);
      }
    }
  };
  if (place.columns == W::kTile) {
    for (size_t i = 0; i < place.rows; ++i) {
      store_line(i, W::kTile);
    }
  } else {
    for (size_t i = 0; i < place.rows; ++i) {
      store_line(i, place.columns);
    }
  }
  return hn::AllTrue(kFloats, hn::Eq(zeros, hn::Zero(kFloats)));
}

// Multiplies tiles [first, first + count) of the layer, which lie transformed in `inputs`, by a panel of the weight,
// and writes the output. `products` has room for the products of as many tiles.
template <size_t kPairs>
void multiply_tiles(
    const WinogradLayer& layer,
    size_t first,
    size_t count,
    size_t panel,
    const float* inputs,
    const bool* is_direct,
    float* products) {
  using W = Winograd<kPairs>;
  const size_t columns = layer.columns_of(panel), channels = layer.channels, column = panel * layer.panel_columns();
  const size_t input_stride = layer.input_tile_stride(), stride = layer.product_tile_stride();
  const float* const weight = layer.weight + column * W::kPositions * channels;
  const MultiplyRows* const multiply = rows_table(columns / kLanes);
  const size_t blocks = divide_up(count, kRows);
  for (size_t position = 0; position < W::kPositions; ++position) {
    // The weights of the next position, panel or, behind the last one, those that were not transformed.
    const char* next = reinterpret_cast<const char*>(weight + (position + 1) * columns * channels);
    const size_t next_stride = columns * sizeof(float) / blocks;
    for (size_t block = 0; block < blocks; ++block, next += next_stride * channels) {
      const size_t begin = count * block / blocks, end = count * (block + 1) / blocks;
      multiply[end - begin - 1](
          inputs + begin * input_stride + position * layer.input_stride(),
          input_stride,
          weight + position * columns * channels,
          channels,
          /*adds=*/false,
          products + begin * stride + position * columns,
          stride,
          next,
          next_stride);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const TilePlace place(layer, first + i);
    float* const tile = products + i * stride;
    float* const to = layer.pixel_of_output(place.image, place.row, place.column) + column;
    OutputVector vectors[2];
    const size_t used = std::min(columns, layer.output_channels - column);
    for (size_t c = 0; c < used; c += kLanes) {
      OutputVector& vector = vectors[c / kLanes];
      vector.count = std::min(kLanes, used - c);
      vector.bias =
          layer.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, layer.bias + column + c, vector.count);
      vector.min = hn::Set(kFloats, layer.min);
      vector.max = hn::Set(kFloats, layer.max);
    }
    bool is_exact = !is_direct[i];
    for (size_t c = 0; is_exact && c < used; c += kLanes) {
      is_exact = transform_products<kPairs>(layer, place, vectors[c / kLanes], tile + c, columns, to + c);
    }
    if (is_exact) {
      continue;
    }
    with_image(layer, [&](const auto* image) { multiply_directly(layer, image, place, panel, tile); });
    for (size_t pixel = 0; pixel < place.rows * place.columns; ++pixel) {
      const size_t row = pixel / place.columns, x = pixel % place.columns;
      for (size_t c = 0; c < used; c += kLanes) {
        vectors[c / kLanes].store(
            hn::LoadU(kFloats, tile + (row * W::kTile + x) * columns + c),
            to + (row * layer.output_width + x) * layer.output_channels + c);
      }
    }
  }
}

void multiply_by_panel(
    const WinogradLayer& layer,
    size_t first,
    size_t count,
    size_t panel,
    const float* inputs,
    const bool* is_direct,
    float* products) {
  with_pairs(layer.tile, [&](auto pairs) {
    multiply_tiles<decltype(pairs)::value>(layer, first, count, panel, inputs, is_direct, products);
  });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_by_panel);

MultiplyWinogradTiles choose_winograd_product() {
  return ETX_DISPATCH(multiply_by_panel);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
