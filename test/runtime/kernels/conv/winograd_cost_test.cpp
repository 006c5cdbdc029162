// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/winograd_cost.h>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr size_t kKiB = 1 << 10, kMiB = 1 << 20;
constexpr Caches kServer{48 * kKiB, 2 * kMiB, 64 * kMiB}, kPhone{32 * kKiB, 256 * kKiB, 2 * kMiB};

ConvParameters layer(size_t size, size_t inputs, size_t outputs, size_t padding = 1, size_t images = 1) {
  ConvParameters p;
  p.input = {images, size, size, inputs};
  p.weight = {outputs, 3, 3, inputs};
  p.output = {images, size + 2 * padding - 2, size + 2 * padding - 2, outputs};
  p.height.padding = p.width.padding = padding;
  return p;
}

size_t tile_of(const ConvParameters& p, size_t largest = 4, size_t lanes = 16, const Caches& caches = kServer) {
  return choose_winograd_tile(p, largest, lanes, caches);
}

TEST(WinogradCost, LayersOfNetworks) {
  EXPECT_EQ(tile_of(layer(56, 64, 64)), 4u);
  EXPECT_EQ(tile_of(layer(28, 128, 128)), 4u);
  EXPECT_EQ(tile_of(layer(14, 256, 256)), 2u) << "the weights of tiles of 4 x 4 take as long to read";
  EXPECT_EQ(tile_of(layer(7, 512, 512), 4, 16, {48 * kKiB, 2 * kMiB, 256 * kMiB}), 2u);
  EXPECT_EQ(tile_of(layer(7, 512, 512), 4, 16, {48 * kKiB, kMiB, 32 * kMiB, /*l3_share=*/0.6}), 2u);
  EXPECT_EQ(tile_of(layer(224, 64, 64)), 4u);
  EXPECT_EQ(tile_of(layer(56, 64, 64), 4, 4, kPhone), 4u);
}

TEST(WinogradCost, WhereThereIsNothingToGain) {
  EXPECT_EQ(tile_of(layer(224, 3, 8)), 0u) << "most of the time would go into transforms";
  EXPECT_EQ(tile_of(layer(1, 256, 256)), 0u) << "one pixel of four";
  EXPECT_EQ(tile_of(layer(7, 512, 512), 4, 16, {48 * kKiB, kMiB, 32 * kMiB, /*l3_share=*/0.25}), 0u)
      << "more weights come from memory";
  EXPECT_EQ(tile_of(layer(7, 1024, 1024), 4, 16, {48 * kKiB, kMiB, 32 * kMiB, /*l3_share=*/0.6}), 0u);
  EXPECT_EQ(tile_of(layer(56, 64, 64), 0), 0u);
  EXPECT_EQ(tile_of(layer(56, 64, 64), 1), 0u);
  EXPECT_EQ(tile_of(layer(56, 64, 64), 3), 2u);
}

TEST(WinogradCost, WhereTheSumIsOfBFloat16) {
  const auto tile = [](const ConvParameters& p, size_t speed) {
    return choose_winograd_tile(p, 4, 16, kServer, speed);
  };
  EXPECT_EQ(tile(layer(56, 64, 64), 2), 4u);
  EXPECT_EQ(tile(layer(28, 128, 128), 2), 4u);
  EXPECT_EQ(tile(layer(7, 512, 512), 2), 0u) << "which has half as many bytes of weights";
  EXPECT_EQ(tile(layer(56, 64, 64), 16), 0u);
}

TEST(WinogradCost, WhatTheKernelDoesNotCompute) {
  ConvParameters p = layer(56, 64, 64);
  p.height.stride = 2;
  EXPECT_EQ(tile_of(p), 0u);
  p = layer(56, 64, 64);
  p.width.stride = 2;
  EXPECT_EQ(tile_of(p), 0u);
  p = layer(56, 64, 64);
  p.height.dilation = 2;
  EXPECT_EQ(tile_of(p), 0u);
  p = layer(56, 64, 64);
  p.width.dilation = 2;
  EXPECT_EQ(tile_of(p), 0u);
  p = layer(56, 64, 64);
  p.transposed = true;
  EXPECT_EQ(tile_of(p), 0u);
  p = layer(56, 64, 64);
  p.groups = 2;
  EXPECT_EQ(tile_of(p), 0u);
  for (const size_t axis : {1, 2}) {
    p = layer(56, 64, 64);
    p.weight[axis] = 5;
    EXPECT_EQ(tile_of(p), 0u);
  }
  EXPECT_EQ(tile_of(layer(56, 64, 64, 2)), 0u);
  EXPECT_EQ(tile_of(layer(56, 64, 64, 0)), 4u);
  EXPECT_EQ(tile_of(layer(56, 64, 64, 1, 0)), 0u) << "no images";
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
