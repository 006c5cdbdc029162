/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * XNNPACK has KleidiAI round rows of float32 to 8 bits for KleidiAI's products: half away from zero, where all others
 * round half to even, and with a row that holds infinity multiplied as if it were 0. A function of ours takes its place
 * (xnnpack_kleidiai.c). XnnpackParts.cmake has the compiler read this before the source that chooses it.
 */
#define xnn_x8_packq_f32qp8_ukernel__aarch64_neon_u2 et_xnnpack_pack_rows
