// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "blob_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <et_xnnpack/schema_generated.h>
#include <reflection/schema_bfbs_generated.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::Table;
using reflection::BaseType;
using reflection::Field;
using reflection::Object;

const Object& object(int32_t index) {
  return *blob_schema().objects()->Get(static_cast<uint32_t>(index));
}

bool is_struct(BaseType type, int32_t index) {
  return type == reflection::Obj && object(index).is_struct();
}

uint64_t read_bits(const uint8_t* from, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, size); // little-endian, as the blob
  return bits;
}

// Of a struct, or of the scalar that a field or an element of it is.
size_t inline_size(BaseType type, int32_t index) {
  return flatbuffers::GetTypeSizeInline(type, index, blob_schema());
}

// The table of a member, -1 if there is none.
int32_t member_table(int32_t of_union, uint64_t member) {
  for (const reflection::EnumVal* value : *blob_schema().enums()->Get(static_cast<uint32_t>(of_union))->values()) {
    if (static_cast<uint64_t>(value->value()) == member && value->union_type()->base_type() == reflection::Obj) {
      return value->union_type()->index();
    }
  }
  return -1;
}

Item read_table(const Table& table, int32_t index, const Field* field);

Item read_inline(const uint8_t* from, BaseType type, int32_t index, const Field* field) {
  Item item{type, index, field, 0, {}, {}};
  if (!is_struct(type, index)) {
    item.bits = read_bits(from, flatbuffers::GetTypeSize(type));
    return item;
  }
  for (const Field* member : *object(index).fields()) {
    item.items.push_back(
        read_inline(from + member->offset(), member->type()->base_type(), member->type()->index(), member));
  }
  return item;
}

Item read_vector(const flatbuffers::VectorOfAny& vector, const Field& field) {
  const BaseType type = field.type()->element();
  const int32_t index = field.type()->index();
  Item item{reflection::Vector, index, &field, 0, {}, {}};
  const size_t size = inline_size(type, index);
  for (uint32_t i = 0; i < vector.size(); ++i) {
    if (type == reflection::Obj && !object(index).is_struct()) {
      item.items.push_back(read_table(*flatbuffers::GetAnyVectorElemPointer<const Table>(&vector, i), index, &field));
    } else {
      item.items.push_back(read_inline(vector.Data() + i * size, type, index, &field));
    }
  }
  return item;
}

Item read_field(const Table& table, const Field& field) {
  const BaseType type = field.type()->base_type();
  const int32_t index = field.type()->index();
  switch (type) {
    case reflection::String: {
      Item item{type, index, &field, 0, {}, {}};
      item.text = flatbuffers::GetFieldS(table, field)->string_view();
      return item;
    }
    case reflection::Vector:
      return read_vector(*flatbuffers::GetFieldAnyV(table, field), field);
    case reflection::Union: {
      Item item{type, index, &field, 0, {}, {}};
      // The field before it says which member it is.
      item.bits = table.GetField<uint8_t>(static_cast<flatbuffers::voffset_t>(field.offset() - 2), 0);
      const int32_t member = member_table(index, item.bits);
      if (member >= 0) {
        item.items.push_back(read_table(*flatbuffers::GetFieldT(table, field), member, &field));
      }
      return item;
    }
    case reflection::Obj:
      if (!object(index).is_struct()) {
        return read_table(*flatbuffers::GetFieldT(table, field), index, &field);
      }
      [[fallthrough]];
    default:
      return read_inline(table.GetAddressOf(field.offset()), type, index, &field);
  }
}

Item read_table(const Table& table, int32_t index, const Field* field) {
  Item item{reflection::Obj, index, field, 0, {}, {}};
  for (const Field* member : *object(index).fields()) {
    if (member->type()->base_type() != reflection::UType && table.CheckField(member->offset())) {
      item.items.push_back(read_field(table, *member));
    }
  }
  return item;
}

void write_inline(const Item& item, uint8_t* to) {
  if (item.is_scalar()) {
    std::memcpy(to, &item.bits, flatbuffers::GetTypeSize(item.type));
    return;
  }
  for (const Item& member : item.items) {
    write_inline(member, to + member.field->offset());
  }
}

size_t alignment(BaseType type, int32_t index) {
  return is_struct(type, index) ? static_cast<size_t>(object(index).minalign()) : flatbuffers::GetTypeSize(type);
}

Offset<void> write_table(const Item& item, FlatBufferBuilder& builder);

Offset<void> write_vector(const Item& item, FlatBufferBuilder& builder) {
  const BaseType type = item.element();
  if (type == reflection::Obj && !object(item.index).is_struct()) {
    ScratchVector<Offset<void>> tables;
    for (const Item& element : item.items) {
      tables.push_back(write_table(element, builder));
    }
    return builder.CreateVector(tables.data(), tables.size()).Union();
  }
  const size_t size = inline_size(type, item.index);
  ScratchVector<uint8_t> bytes(size * item.items.size());
  for (size_t i = 0; i < item.items.size(); ++i) {
    write_inline(item.items[i], bytes.data() + i * size);
  }
  builder.StartVector(item.items.size(), size, alignment(type, item.index));
  builder.PushBytes(bytes.data(), bytes.size());
  return Offset<void>(builder.EndVector(item.items.size()));
}

// What lies outside of its table.
Offset<void> write_outside(const Item& item, FlatBufferBuilder& builder) {
  switch (item.type) {
    case reflection::String:
      return builder.CreateString(item.text.data(), item.text.size()).Union();
    case reflection::Vector:
      return write_vector(item, builder);
    case reflection::Union:
      return item.items.empty() ? Offset<void>() : write_table(item.items[0], builder);
    default:
      return item.is_table() ? write_table(item, builder) : Offset<void>();
  }
}

Offset<void> write_table(const Item& item, FlatBufferBuilder& builder) {
  ScratchVector<Offset<void>> outside;
  for (const Item& field : item.items) {
    outside.push_back(write_outside(field, builder));
  }
  const flatbuffers::uoffset_t start = builder.StartTable();
  for (size_t i = 0; i < item.items.size(); ++i) {
    const Item& field = item.items[i];
    const uint16_t offset = field.field->offset();
    if (field.is_scalar() || is_struct(field.type, field.index)) {
      ScratchVector<uint8_t> bytes(inline_size(field.type, field.index));
      write_inline(field, bytes.data());
      builder.Align(alignment(field.type, field.index));
      builder.PushBytes(bytes.data(), bytes.size());
      builder.TrackField(offset, builder.GetSize());
    } else if (!outside[i].IsNull()) {
      builder.AddOffset(offset, outside[i]);
    }
    if (field.type == reflection::Union) {
      builder.AddElement<uint8_t>(static_cast<flatbuffers::voffset_t>(offset - 2), static_cast<uint8_t>(field.bits));
    }
  }
  return Offset<void>(builder.EndTable(start));
}

} // namespace

const reflection::Schema& blob_schema() {
  static const reflection::Schema& schema = *reflection::GetSchema(schema::GraphBinarySchema::data());
  return schema;
}

bool Item::is_table() const {
  return type == reflection::Obj && !object(index).is_struct();
}

BaseType Item::element() const {
  return field->type()->element();
}

Item new_object(int32_t index, const Field* field) {
  Item item{reflection::Obj, index, field, 0, {}, {}};
  if (object(index).is_struct()) {
    for (const Field* member : *object(index).fields()) {
      item.items.push_back(new_item(*member));
    }
  }
  return item;
}

Item new_item(const Field& field) {
  const BaseType type = field.type()->base_type();
  const int32_t index = field.type()->index();
  if (type == reflection::Obj) {
    return new_object(index, &field);
  }
  Item item{type, index, &field, 0, {}, {}};
  if (type == reflection::Float) {
    const auto number = static_cast<float>(field.default_real());
    std::memcpy(&item.bits, &number, sizeof(number));
  } else if (type == reflection::Double) {
    const double number = field.default_real();
    std::memcpy(&item.bits, &number, sizeof(number));
  } else {
    item.bits = static_cast<uint64_t>(field.default_integer());
  }
  return type == reflection::Union ? new_member(item, 1) : item;
}

Item new_element(const Item& vector) {
  if (vector.element() == reflection::Obj) {
    return new_object(vector.index, vector.field);
  }
  return {vector.element(), vector.index, vector.field, 0, {}, {}};
}

Item new_member(const Item& of_union, uint64_t member) {
  Item item{reflection::Union, of_union.index, of_union.field, member, {}, {}};
  const int32_t table = member_table(of_union.index, member);
  if (table >= 0) {
    item.items.push_back(new_object(table, of_union.field));
  }
  return item;
}

std::optional<Item> read_blob(const uint8_t* bytes, size_t size) {
  // In memory of its own, aligned for what it holds.
  ScratchVector<uint64_t> aligned(size / sizeof(uint64_t) + 1);
  std::copy(bytes, bytes + size, reinterpret_cast<uint8_t*>(aligned.data()));
  const auto* begin = reinterpret_cast<const uint8_t*>(aligned.data());
  // Not by reflection, whose verifier reads the types of unions before it has checked where they are.
  flatbuffers::Verifier verifier(begin, size, 16, 1 << 16);
  if (!schema::VerifyGraphBuffer(verifier)) {
    return std::nullopt;
  }
  const auto& objects = *blob_schema().objects();
  const auto index =
      std::distance(objects.begin(), std::find(objects.begin(), objects.end(), blob_schema().root_table()));
  return read_table(*flatbuffers::GetAnyRoot(begin), static_cast<int32_t>(index), nullptr);
}

std::vector<uint8_t> write_blob(const Item& root) {
  FlatBufferBuilder builder;
  builder.Finish(Offset<Table>(write_table(root, builder).o), blob_schema().file_ident()->c_str());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace executorch::backends::et_xnnpack::testing
