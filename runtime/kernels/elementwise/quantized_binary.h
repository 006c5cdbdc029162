// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <optional>

#include "quantized_bytes.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// A function of two operands whose bytes stand for numbers, computed in Float32 a block at a time. What has no
// quantization is Float32. `function` is a row of two operands and a result of Float32.
std::unique_ptr<Row> quantized_binary_row(
    std::unique_ptr<Row> function,
    const std::optional<ByteQuantization>& a,
    const std::optional<ByteQuantization>& b,
    const std::optional<ByteQuantization>& y);

} // namespace executorch::backends::et_xnnpack
