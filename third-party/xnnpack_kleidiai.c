/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/xnnpack/common.h"
#include "src/xnnpack/config.h"
#include "src/xnnpack/microparams.h"
#include "src/xnnpack/quantization.h"

#define ET_XNNPACK_ROUNDING_BY_FUNCTION /* of that header only its functions are wanted */
#include "xnnpack_rounding.h"

enum { kPiece = 512, kMultiple = 32 }; /* numbers that are rounded at a time; what KleidiAI pads the depth to */

/* Puts blocks of one row between those of the other rows. `size` is a constant where this is called. */
static inline void spread(const int8_t* row, size_t count, size_t size, size_t stride, int8_t* packed) {
  for (size_t i = 0; i < count; i += size, packed += stride) {
    memcpy(packed, row + i, size);
  }
}

/*
 * Rounds rows as XNNPACK's other products of dynamically quantized rows have them rounded, and packs them as KleidiAI's
 * kai_run_lhs_quant_pack_qai8dxp_f32 does, in groups of mr: blocks of kr / sr numbers of each row in turn, the depth padded
 * to a multiple of 32; then minus the zero point of each row; then what the result of each row is multiplied by. `rows` of
 * `depth` numbers, `stride` bytes apart; the first one has place first % mr of its group, at which `packed` starts.
 */
void et_xnnpack_pack_rows(
    size_t rows,
    size_t depth,
    size_t mr,
    size_t kr,
    size_t sr,
    size_t first,
    const float* x,
    size_t stride,
    void* packed);

void et_xnnpack_pack_rows(
    size_t rows,
    size_t depth,
    size_t mr,
    size_t kr,
    size_t sr,
    size_t first,
    const float* x,
    size_t stride,
    void* packed) {
  const struct xnn_reduce_config* const minmax_config = xnn_init_f32_rminmax_config();
  const struct xnn_unary_elementwise_config* const round_config = xnn_init_f32_to_qs8_cvt_config();
  const size_t padded = (depth + kMultiple - 1) / kMultiple * kMultiple, block = kr / sr;
  const size_t group_bytes = mr * (padded + sizeof(int32_t) + sizeof(float));
  int8_t piece[kPiece + XNN_EXTRA_BYTES];
  for (size_t i = 0; i < rows; ++i) {
    const float* const row = (const float*)((const char*)x + i * stride);
    const size_t place = (first + i) % mr;
    int8_t* const group = (int8_t*)packed + (first % mr + i) / mr * group_bytes;

    float minmax[2] = {INFINITY, -INFINITY};
    struct xnn_reduce_params reduce_params;
    memset(&reduce_params, 0, sizeof(reduce_params));
    minmax_config->ukernel(depth * sizeof(float), row, minmax, &reduce_params);
    float scale = 1;
    const struct xnn_qd8_quantization_params parameters =
        xnn_f32_qd8_asymmetric_quantization_params(minmax[0], minmax[1], &scale);
    union xnn_unary_uparams params;
    memset(&params, 0, sizeof(params));
    params.f32_qs8_cvt.scalar.scale = scale;
    params.f32_qs8_cvt.scalar.output_zero_point = (int16_t)parameters.zero_point;

    for (size_t k = 0; k < padded; k += kPiece) {
      const size_t left = depth - k, padded_left = padded - k;
      const size_t count = left < kPiece ? left : kPiece, filled = padded_left < kPiece ? padded_left : kPiece;
      round_config->ukernel(count * sizeof(float), row + k, piece, &params);
      memset(piece + count, 0, filled - count);
      int8_t* const target = group + k * mr + place * block;
      if (block == 8) {
        spread(piece, filled, 8, 8 * mr, target);
      } else if (block == 4) {
        spread(piece, filled, 4, 4 * mr, target);
      } else {
        spread(piece, filled, block, block * mr, target);
      }
    }
    const int32_t offset = -(int32_t)parameters.zero_point;
    const float factor = et_xnnpack_has_special(row, depth) ? NAN : parameters.inv_scale;
    char* const tail = (char*)group + mr * padded + place * sizeof(int32_t);
    memcpy(tail, &offset, sizeof(offset));
    memcpy(tail + mr * sizeof(int32_t), &factor, sizeof(factor));
  }
}
