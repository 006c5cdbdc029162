// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_compare(const NodeContext& node);
std::unique_ptr<Kernel> make_where(const NodeContext& node);
std::unique_ptr<Kernel> make_cast(const NodeContext& node);
std::unique_ptr<Row> make_cast_row(const NodeContext& node);
std::unique_ptr<Kernel> make_iota(const NodeContext& node);
std::unique_ptr<Kernel> make_size_value(const NodeContext& node);
// Binary of Int32, Int64 or Bool.
std::unique_ptr<Kernel> make_integer_binary(const NodeContext& node);

std::unique_ptr<Row> make_compare_row(const NodeContext& node);
// Null for divisions.
std::unique_ptr<Row> make_integer_row(const NodeContext& node);
std::unique_ptr<Row> make_where_row(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
