/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_packing.h"

#include <stddef.h>
#include <string.h>

#include "src/xnnpack/config.h"
#include "src/xnnpack/microfnptr.h"

/* XNNPACK's microkernels may read to the next multiple of this many numbers in a row. */
enum { kReadAtOnce = 16 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* packed[c * nr + n] = kernel[n * stride + c] for n < columns and c < channels. */
static void pack_panel(
    const struct xnn_transpose_subconfig* transpose,
    size_t columns,
    size_t channels,
    size_t nr,
    const float* kernel,
    size_t stride,
    float* packed) {
  const size_t in_whole_vectors = channels / kReadAtOnce * kReadAtOnce;
  const size_t tile = transpose->tile_size;
  for (size_t c = 0; c < in_whole_vectors; c += tile) {
    for (size_t n = 0; n < columns; n += tile) {
      transpose->const_size_ukernel(
          kernel + n * stride + c,
          packed + c * nr + n,
          stride * sizeof(float),
          nr * sizeof(float),
          least(tile, in_whole_vectors - c),
          least(tile, columns - n));
    }
  }
  for (size_t c = in_whole_vectors; c < channels; ++c) {
    for (size_t n = 0; n < columns; ++n) {
      packed[c * nr + n] = kernel[n * stride + c];
    }
  }
}

void et_xnnpack_pack_f32_conv_goki_w(
    size_t groups,
    size_t columns,
    size_t kernel_size,
    size_t channels,
    size_t nr,
    size_t kr,
    size_t sr,
    const float* kernel,
    const float* bias,
    const void* scale,
    float* packed,
    size_t extra_bytes,
    const void* params) {
  const struct xnn_transpose_config* config = xnn_init_transpose_config();
  if (kr != 1 || sr != 1 || config == NULL) {
    xnn_pack_f32_conv_goki_w(
        groups, columns, kernel_size, channels, nr, kr, sr, kernel, bias, scale, packed, extra_bytes, params);
    return;
  }
  const size_t stride = kernel_size * channels;
  for (size_t g = 0; g < groups; ++g) {
    for (size_t n = 0; n < columns; n += nr) {
      const size_t panel = least(nr, columns - n);
      if (bias != NULL) {
        memcpy(packed, bias + g * columns + n, panel * sizeof(float));
      } else {
        memset(packed, 0, panel * sizeof(float));
      }
      packed += nr;
      for (size_t k = 0; k < kernel_size; ++k) {
        pack_panel(
            &config->x32, panel, channels, nr, kernel + (g * columns + n) * stride + k * channels, stride, packed);
        packed += channels * nr;
      }
      packed = (float*)((char*)packed + extra_bytes);
    }
  }
}
