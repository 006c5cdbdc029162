// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <vector>

#include <executorch/runtime/core/evalue.h>

#include "runtime/program/blob.h"
#include "runtime/program/sizes.h"

namespace executorch::backends::et_xnnpack {

using executorch::aten::ScalarType;
using executorch::runtime::EValue;

// The dtype as ExecuTorch calls it.
ScalarType scalar_type(DType dtype);

// Checks the delegate's arguments against a blob and reads sizes and addresses off them.
// Fails with InvalidArgument for another number of arguments, another kind, dtype, rank
// or order of axes in memory.
Status read_arguments(
    const Blob& blob, Span<EValue*> args, std::vector<ArgumentSize>* inputs, std::vector<const void*>* input_data);

// Gives output `i` the physical shape and reads its address.
Status prepare_output(const Blob& blob, size_t i, const Shape& shape, EValue& arg, void** data);

} // namespace executorch::backends::et_xnnpack
