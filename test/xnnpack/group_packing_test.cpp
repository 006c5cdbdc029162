// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// 4-bit weights in groups, packed by us and by XNNPACK.

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <third-party/xnnpack_rounded_rows.h>

#include "operands.h"
#include "xnnpack/math.h"
#include "xnnpack/microparams-init.h"
#include "xnnpack/pack.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr size_t kDeep = 8;

struct Packing {
  size_t tile, columns, depth, block;

  size_t blocks() const {
    return depth / block;
  }
  // The sum, the bias, the numbers and the scales.
  size_t panel_bytes() const {
    return tile * (2 * sizeof(float) + depth / 2 + blocks() * sizeof(uint16_t));
  }
  size_t panels() const {
    return (columns + tile - 1) / tile;
  }
};

// XNNPACK writes biases and scales by other functions.
std::vector<uint8_t> pack_by_xnnpack(
    const Packing& p,
    const std::vector<uint8_t>& weights,
    const std::vector<uint16_t>& scales,
    const std::vector<float>& bias) {
  std::vector<uint8_t> packed(p.panels() * p.panel_bytes());
  const xnn_qs8_qc4w_packing_params parameters = {/*input_zero_point=*/1, /*kernel_zero_point=*/8};
  std::vector<xnn_bfloat16> xnnpack_scales(scales.size());
  std::memcpy(xnnpack_scales.data(), scales.data(), scales.size() * sizeof(uint16_t));
  xnn_pack_qs8_qb4w_gemm_goi_w(
      1,
      p.columns,
      p.depth,
      p.tile,
      kDeep,
      1,
      p.block,
      weights.data(),
      nullptr,
      xnnpack_scales.data(),
      packed.data(),
      p.tile * sizeof(uint16_t),
      p.tile * sizeof(float),
      &parameters);
  for (size_t column = 0; column < p.columns; ++column) {
    uint8_t* const end = packed.data() + (column / p.tile + 1) * p.panel_bytes();
    std::memcpy(end - (p.tile - column % p.tile) * sizeof(float), &bias[column], sizeof(float));
  }
#ifdef XNN_FLAG_NO_BROADCAST // since 2025 whoever packs writes the scales as well
  xnn_init_blockwise_scale_bf16_params(
      p.columns,
      p.tile,
      p.panel_bytes(),
      p.blocks(),
      p.tile * (p.block / 2 + sizeof(uint16_t)),
      xnnpack_scales.data(),
      packed.data() + p.tile * (sizeof(float) + p.block / 2));
#endif
  return packed;
}

TEST(GroupPackingTest, GivesTheBytesOfXnnpack) {
  Random random;
  for (const size_t tile : {8, 16}) {
    for (const size_t block : {32, 64, 128}) {
      for (const size_t blocks : {1, 2, 3}) {
        for (size_t columns = 1; columns <= 2 * tile + 1; ++columns) {
          const Packing p = {tile, columns, block * blocks, block};
          std::vector<uint8_t> weights(columns * p.depth / 2);
          for (uint8_t& both : weights) {
            both = static_cast<uint8_t>(random.next(0, 255));
          }
          std::vector<uint16_t> scales(columns * blocks);
          for (uint16_t& scale : scales) {
            scale = static_cast<uint16_t>(random.next(0x3A00, 0x4100));
          }
          std::vector<float> bias(columns);
          for (float& each : bias) {
            each = static_cast<float>(random.next(-1000, 1000)) / 7;
          }
          std::vector<uint8_t> packed(p.panels() * p.panel_bytes());
          et_xnnpack_pack_groups(
              1,
              columns,
              p.depth,
              tile,
              kDeep,
              1,
              block,
              weights.data(),
              bias.data(),
              scales.data(),
              packed.data(),
              tile * sizeof(uint16_t),
              tile * sizeof(float),
              nullptr);
          ASSERT_EQ(packed, pack_by_xnnpack(p, weights, scales, bias))
              << columns << " columns of depth " << p.depth << " in blocks of " << block << ", " << tile << " at once";
        }
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
