// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/kernels/fft/fft.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What the kernel must know of a node.
FftParameters fft_parameters(const NodeContext& node);

std::unique_ptr<Kernel> make_fft(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
