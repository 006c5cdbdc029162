/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Has depthwise convolutions of 1 x 1 scale channels, by microkernels that XNNPACK has for it: since 2026 it looks up
 * which, but does not keep the answer. Depthwise ones take their place, which read pixels beside the window and
 * multiply them by 0, so a NaN spreads. XnnpackParts.cmake has the compiler read this before the source of
 * convolutions, where `context` is what the answer is for.
 */

#include "src/xnnpack/config.h"

#define xnn_init_f16_vmulcaddc_config() (context->vmulcaddc_config = xnn_init_f16_vmulcaddc_config())
#define xnn_init_f32_vmulcaddc_config() (context->vmulcaddc_config = xnn_init_f32_vmulcaddc_config())
