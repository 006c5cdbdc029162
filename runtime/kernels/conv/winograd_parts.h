// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What WinogradConv does for each instruction set.

#include <cstddef>

#include "winograd_layer.h"

namespace executorch::backends::et_xnnpack {

// Writes layer.packed_weights() floats. weight: [OC, 3, 3, IC]
void pack_winograd(const WinogradLayer& layer, const float* weight, float* packed);

// Transforms `count` tiles of the image from `first` on, each input_tile_stride() floats behind the one before.
// is_direct: by tile, whether it must be computed as a sum of products.
using TransformWinogradTiles =
    void (*)(const WinogradLayer& layer, size_t first, size_t count, float* to, bool* is_direct);
TransformWinogradTiles choose_winograd_transform();

// Multiplies `count` tiles from `first` on, which lie transformed in `inputs`, by a panel of the weight, and writes
// their pixels of the output. `products` has product_tile_stride() floats for each of them.
using MultiplyWinogradTiles = void (*)(
    const WinogradLayer& layer,
    size_t first,
    size_t count,
    size_t panel,
    const float* inputs,
    const bool* is_direct,
    float* products);
MultiplyWinogradTiles choose_winograd_product();

} // namespace executorch::backends::et_xnnpack
