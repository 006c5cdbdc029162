// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <flatbuffers/flatbuffers.h>

#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

// Says what entry `i` of a vector of the root table is, for messages: "node 3 Conv2d".
using EntryName = std::function<std::string(std::string_view field, size_t i)>;

// Checks a table and everything in it for what the types of the schema demand, whatever the fields are called:
//  - a schema::Size is a number up to kMaxLiteralSize or one of `num_exprs` expressions;
//  - an enum is one of its members, and a union holds a table that is known;
//  - the entries of a vector lie where they may be read in place.
// Fails with InvalidProgram. REQUIRES: the FlatBuffers verifier accepted the table
Status check_fields(
    const void* table, const flatbuffers::TypeTable& type, size_t num_exprs, const EntryName& entry_name);

// Calls visit(entry) for each schema::Size in a table and in everything in it.
// REQUIRES: check_fields() accepted it
void for_each_size(
    const void* table, const flatbuffers::TypeTable& type, const std::function<void(int64_t entry)>& visit);

} // namespace executorch::backends::et_xnnpack
