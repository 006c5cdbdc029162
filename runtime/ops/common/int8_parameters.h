// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/conv/int8_conv.h"
#include "runtime/ops/common/common.h"

namespace executorch::backends::et_xnnpack {

// What our kernels must know of a product between integers of 8 bits, with a weight as operand 1, but its sizes.
Int8ConvParameters int8_parameters(const NodeContext& node, const schema::Clamp* clamp);

} // namespace executorch::backends::et_xnnpack
