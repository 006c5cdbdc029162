/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_rounded_rows.h"

#include <stdint.h>
#include <string.h>

#include "src/xnnpack/common.h"
#include "src/xnnpack/microparams-init.h"

#if XNN_ARCH_X86 || XNN_ARCH_X86_64 // little-endian

enum { kDeep = 8, kBytes = 8 }; // of each column 2 * kDeep numbers lie together, two in a byte

// The eight numbers of 4 bits, one in each byte.
static uint64_t spread(uint32_t numbers) {
  uint64_t x = numbers;
  x = (x | x << 16) & 0x0000FFFF0000FFFF;
  x = (x | x << 8) & 0x00FF00FF00FF00FF;
  return (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
}

// Of the 16 numbers.
static int32_t sum_of(uint64_t numbers) {
  const uint64_t mask = 0x0F0F0F0F0F0F0F0F;
  return (int32_t)((((numbers & mask) + (numbers >> 4 & mask)) * 0x0101010101010101) >> 56);
}

static float float_of(uint16_t bfloat16) {
  const uint32_t bits = (uint32_t)bfloat16 << 16;
  float result;
  memcpy(&result, &bits, sizeof(result));
  return result;
}

void et_xnnpack_pack_groups(
    size_t groups,
    size_t columns,
    size_t depth,
    size_t tile,
    size_t deep,
    size_t shuffled,
    size_t block,
    const void* weights,
    const void* bias,
    const void* scales,
    void* packed,
    size_t extra_block_bytes,
    size_t extra_column_bytes,
    const void* parameters) {
  (void)groups, (void)deep, (void)shuffled, (void)parameters;
  const size_t row_bytes = depth / 2, blocks = depth / block;
  char* to = packed;
  for (size_t column = 0; column < columns; column += tile) {
    const size_t count = columns - column < tile ? columns - column : tile;
    float* const sums = (float*)to;
    memset(sums, 0, tile * sizeof(float));
    to += tile * sizeof(float);
    for (size_t k = 0; k < depth; k += 2 * kDeep) {
      const size_t group = k / block;
      const uint8_t* from = (const uint8_t*)weights + column * row_bytes + k / 2;
      const uint16_t* scale = (const uint16_t*)scales + column * blocks + group;
      for (size_t i = 0; i < count; ++i, from += row_bytes, scale += blocks) {
        uint32_t halves[2];
        memcpy(halves, from, sizeof(halves));
        const uint64_t numbers = spread(halves[0]) | spread(halves[1]) << 4;
        const uint64_t with_sign = numbers ^ 0x8888888888888888;
        memcpy(to + i * kBytes, &with_sign, kBytes);
        sums[i] -= (float)(sum_of(numbers) - 2 * kDeep * 8) * float_of(*scale);
      }
      to += tile * kBytes;
      if ((k + 2 * kDeep) % block == 0) {
        to += extra_block_bytes;
      }
    }
    if (bias != NULL) {
      memcpy(to, (const float*)bias + column, count * sizeof(float));
    }
    to += extra_column_bytes;
  }
#ifdef ET_XNNPACK_NEWER // where scales are left to the function that packs
  const size_t block_bytes = tile * block / 2 + extra_block_bytes;
  const size_t panel_bytes = tile * sizeof(float) + blocks * block_bytes + extra_column_bytes;
  char* const first = (char*)packed + tile * (sizeof(float) + block / 2);
  xnn_init_blockwise_scale_bf16_params(columns, tile, panel_bytes, blocks, block_bytes, scales, first);
#endif
}

#endif
