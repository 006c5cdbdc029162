// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// A blob taken apart into plain data that may be changed in any way, and put together again. What is in it
// is known from the schema alone (FlatBuffers' reflection), so a new operator needs nothing here. All of it lives as long
// as a Scratch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <flatbuffers/reflection.h>

#include "scratch.h"

namespace executorch::backends::et_xnnpack::testing {

const reflection::Schema& blob_schema();

struct Item {
  // Obj stands for tables and structs; Union for a union and its type together.
  reflection::BaseType type = reflection::None;
  int32_t index = -1; // of the table, struct, enum or union in the schema
  const reflection::Field* field = nullptr; // which this is, or is an element of; null: the root
  uint64_t bits = 0; // of a scalar; the member of a union
  std::basic_string<char, std::char_traits<char>, ScratchAllocator<char>> text; // of a string
  // Fields of a struct, fields of a table that are there, elements of a vector, the table of a union.
  ScratchVector<Item> items;

  bool is_scalar() const {
    return flatbuffers::IsScalar(type);
  }
  bool is_table() const;
  // The type of the elements of a vector, which may have none.
  reflection::BaseType element() const;
};

// What a field holds where it is new: its default, nothing, or for a struct zeros.
Item new_item(const reflection::Field& field);
// The same for a table or a struct by itself.
Item new_object(int32_t index, const reflection::Field* field);
// An element that the vector could get: zeros, or nothing.
Item new_element(const Item& vector);
// A member of a union, 1 or above, with a new table.
Item new_member(const Item& of_union, uint64_t member);

// Nothing if the FlatBuffers verifier would refuse it.
std::optional<Item> read_blob(const uint8_t* bytes, size_t size);

// REQUIRES: an Item like those that read_blob makes
std::vector<uint8_t> write_blob(const Item& root);

} // namespace executorch::backends::et_xnnpack::testing
