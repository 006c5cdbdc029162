// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "quantized_bytes.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// A function of quantized bytes by a table of its results for all 256. `function` is a row of one Float32, null
// for a copy. Gives bytes, quantized as `to` says.
std::unique_ptr<Row> lookup_row(const Row* function, const ByteQuantization& from, const ByteQuantization& to);
// The same with results of Float32.
std::unique_ptr<Row> lookup_row(const Row* function, const ByteQuantization& from);

// Float32 to bytes, rounded half to even.
std::unique_ptr<Row> quantize_bytes_row(const ByteQuantization& to);

} // namespace executorch::backends::et_xnnpack
