// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/program/fields.h>

#include <functional>
#include <limits>
#include <set>

#include "blob_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::TypeTable;
using Tables = std::set<const TypeTable*>;

flatbuffers::voffset_t slot(size_t field) {
  return flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(field));
}

const TypeTable* type_of_field(const TypeTable& type, size_t i) {
  return type.type_codes[i].sequence_ref < 0 ? nullptr : type.type_refs[type.type_codes[i].sequence_ref]();
}

// All structs, tables, unions and enums that a table is made of.
void collect(const TypeTable* type, Tables* found) {
  if (type == nullptr || !found->insert(type).second) {
    return;
  }
  for (size_t i = 0; i < type->num_elems && type->st != flatbuffers::ST_ENUM; ++i) {
    collect(type_of_field(*type, i), found);
  }
}

// A table with only this one field, which is a size or a vector of sizes.
flatbuffers::Offset<void> table_with_size(FlatBufferBuilder& b, const TypeTable& type, size_t field, int64_t entry) {
  const schema::Size size(entry);
  const bool is_vector = type.type_codes[field].is_repeating != 0;
  flatbuffers::Offset<flatbuffers::Vector<const schema::Size*>> vector;
  if (is_vector) {
    vector = b.CreateVectorOfStructs(&size, 1);
  }
  const flatbuffers::uoffset_t start = b.StartTable();
  if (is_vector) {
    b.AddOffset(slot(field), vector);
  } else {
    b.AddStruct(slot(field), &size);
  }
  return b.EndTable(start);
}

// x -> a node with these attributes -> output
GraphDef graph_with(size_t member, std::function<flatbuffers::Offset<void>(FlatBufferBuilder&)> make) {
  return one_node({static_cast<schema::Attributes>(member), std::move(make)}, {{2}}, {2});
}

// Calls visit(member of the union, its table, index of a field) for every field of all attributes.
void for_each_attribute(const std::function<void(size_t, const TypeTable&, size_t)>& visit) {
  const TypeTable& all = *schema::AttributesTypeTable();
  for (size_t member = 1; member < all.num_elems; ++member) {
    const TypeTable& type = *all.type_refs[all.type_codes[member].sequence_ref]();
    for (size_t field = 0; field < type.num_elems; ++field) {
      visit(member, type, field);
    }
  }
}

TEST(FieldsTest, EverySizeOfEveryOperatorIsChecked) {
  size_t sizes = 0;
  for_each_attribute([&](size_t member, const TypeTable& type, size_t field) {
    if (type_of_field(type, field) != schema::SizeTypeTable()) {
      return;
    }
    SCOPED_TRACE(type.names[field]);
    ++sizes;
    for (const int64_t entry : {int64_t{-1}, std::numeric_limits<int64_t>::min(), (int64_t{1} << 40) + 1}) {
      const GraphDef g =
          graph_with(member, [&](FlatBufferBuilder& b) { return table_with_size(b, type, field, entry); });
      const char* what = entry < 0 ? "which does not exist" : "1099511627777";
      EXPECT_TRUE(refuses(g, {"node 0", "debug handle 77", type.names[field], what}));
    }
  });
  EXPECT_GE(sizes, 8u);
}

// If this fails, sizes have come to another table: add its way to write a bad one above.
TEST(FieldsTest, SizesAreInValuesAndAttributes) {
  Tables all, attributes;
  collect(schema::GraphTypeTable(), &all);
  collect(schema::AttributesTypeTable(), &attributes);
  for (const TypeTable* type : all) {
    for (size_t i = 0; i < type->num_elems && type->st == flatbuffers::ST_TABLE; ++i) {
      EXPECT_TRUE(
          type_of_field(*type, i) != schema::SizeTypeTable() || attributes.count(type) == 1 ||
          type == schema::ValueTypeTable())
          << type->names[i];
    }
  }
}

TEST(FieldsTest, EveryEnumOfEveryOperatorIsChecked) {
  size_t enums = 0;
  for_each_attribute([&](size_t member, const TypeTable& type, size_t field) {
    const TypeTable* of = type_of_field(type, field);
    if (of == nullptr || of->st != flatbuffers::ST_ENUM) {
      return;
    }
    SCOPED_TRACE(type.names[field]);
    ++enums;
    for (const size_t number : {of->num_elems, size_t{255}}) {
      const GraphDef g = graph_with(member, [&](FlatBufferBuilder& b) {
        const flatbuffers::uoffset_t start = b.StartTable();
        b.AddElement<uint8_t>(slot(field), static_cast<uint8_t>(number), 0);
        return flatbuffers::Offset<void>(b.EndTable(start));
      });
      const std::string what = std::string("unknown ") + type.names[field] + " " + std::to_string(number);
      EXPECT_TRUE(refuses(g, {"node 0", "debug handle 77", what.c_str()}));
    }
  });
  EXPECT_GE(enums, 15u);
}

TEST(FieldsTest, RefusesVectorsThatCannotBeReadInPlace) {
  size_t refused = 0;
  for (const size_t words : {0, 1}) { // one of them moves the vector to an odd multiple of 4
    const GraphDef g = graph_with(static_cast<size_t>(schema::Attributes::Reshape), [&](FlatBufferBuilder& b) {
      for (size_t i = 0; i < words; ++i) {
        b.PushElement<uint32_t>(0);
      }
      b.StartVector(2, sizeof(uint32_t), sizeof(uint32_t));
      b.PushElement<uint32_t>(0);
      b.PushElement<uint32_t>(2);
      const flatbuffers::Offset<void> shape(b.EndVector(1));
      const flatbuffers::uoffset_t start = b.StartTable();
      b.AddOffset(slot(0), shape);
      return flatbuffers::Offset<void>(b.EndTable(start));
    });
    refused += refuses(g, {"node 0 Reshape", "the entries of its shape are not aligned"}) ? 1 : 0;
  }
  EXPECT_EQ(refused, 1u);
}

// A schema of its own, whose names nothing in the runtime knows:
//   table Leaf { place: Size; places: [Size]; }
//   union Any { Leaf }
//   table Tree { leaf: Leaf; leaves: [Leaf]; any: Any; }
const TypeTable* leaf_type() {
  static const flatbuffers::TypeCode codes[] = {{flatbuffers::ET_SEQUENCE, 0, 0}, {flatbuffers::ET_SEQUENCE, 1, 0}};
  static const flatbuffers::TypeFunction refs[] = {schema::SizeTypeTable};
  static const char* const names[] = {"place", "places"};
  static const TypeTable type = {flatbuffers::ST_TABLE, 2, codes, refs, nullptr, nullptr, names};
  return &type;
}
const TypeTable* any_type() {
  static const flatbuffers::TypeCode codes[] = {{flatbuffers::ET_SEQUENCE, 0, -1}, {flatbuffers::ET_SEQUENCE, 0, 0}};
  static const flatbuffers::TypeFunction refs[] = {leaf_type};
  static const char* const names[] = {"NONE", "Leaf"};
  static const TypeTable type = {flatbuffers::ST_UNION, 2, codes, refs, nullptr, nullptr, names};
  return &type;
}
const TypeTable* tree_type() {
  static const flatbuffers::TypeCode codes[] = {
      {flatbuffers::ET_SEQUENCE, 0, 0},
      {flatbuffers::ET_SEQUENCE, 1, 0},
      {flatbuffers::ET_UTYPE, 0, 1},
      {flatbuffers::ET_SEQUENCE, 0, 1}};
  static const flatbuffers::TypeFunction refs[] = {leaf_type, any_type};
  static const char* const names[] = {"leaf", "leaves", "any_type", "any"};
  static const TypeTable type = {flatbuffers::ST_TABLE, 4, codes, refs, nullptr, nullptr, names};
  return &type;
}

// A tree that has a leaf in each of its places; leaf `which` has `entry` where the others have 5.
Status check_tree(size_t which, size_t field, int64_t entry, uint8_t member = 1) {
  FlatBufferBuilder b;
  flatbuffers::Offset<void> leaves[3];
  for (size_t i = 0; i < 3; ++i) {
    leaves[i] = table_with_size(b, *leaf_type(), field, i == which ? entry : 5);
  }
  const auto vector = b.CreateVector(&leaves[1], 1);
  const flatbuffers::uoffset_t start = b.StartTable();
  b.AddOffset(slot(0), leaves[0]);
  b.AddOffset(slot(1), vector);
  b.AddElement<uint8_t>(slot(2), member, 0);
  b.AddOffset(slot(3), leaves[2]);
  b.Finish(flatbuffers::Offset<void>(b.EndTable(start)));
  const auto name = [](std::string_view field_name, size_t i) { return std::string(field_name) + std::to_string(i); };
  return check_fields(flatbuffers::GetRoot<void>(b.GetBufferPointer()), *tree_type(), 2, name);
}

TEST(FieldsTest, FindsSizesThatNoCodeMentions) {
  for (size_t which = 0; which < 3; ++which) {
    for (size_t field = 0; field < 2; ++field) {
      EXPECT_TRUE(check_tree(which, field, -2).ok());
      EXPECT_TRUE(check_tree(which, field, int64_t{1} << 40).ok());
      const Status status = check_tree(which, field, -3);
      EXPECT_EQ(status.code(), Error::InvalidProgram) << which << " " << field;
      EXPECT_NE(status.message().find("refers to size expression 2"), std::string::npos) << status.message();
      EXPECT_EQ(status.message().find("leaves0: ") == 0, which == 1) << status.message();
    }
  }
}

TEST(FieldsTest, RefusesUnknownMembersOfUnions) {
  EXPECT_TRUE(check_tree(0, 0, 0, 1).ok());
  EXPECT_EQ(check_tree(0, 0, 0, 2).message(), "its any_type is 2, which is no known type");
  EXPECT_EQ(check_tree(0, 0, 0, 255).message(), "its any_type is 255, which is no known type");
  EXPECT_EQ(check_tree(0, 0, 0, 0).message(), "its any has no type");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
