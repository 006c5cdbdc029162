// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fields.h"

#include <algorithm>
#include <cinttypes>

#include <flatbuffers/minireflect.h>

#include "sizes.h"

namespace executorch::backends::et_xnnpack {
namespace {

using flatbuffers::ElementaryType;
using flatbuffers::TypeTable;

int64_t read_integer(ElementaryType type, const uint8_t* at) {
  switch (flatbuffers::InlineSize(type, nullptr)) {
    case 1:
      return *at;
    case 2:
      return flatbuffers::ReadScalar<uint16_t>(at);
    case 4:
      return flatbuffers::ReadScalar<uint32_t>(at);
    default:
      return flatbuffers::ReadScalar<int64_t>(at);
  }
}

const uint8_t* follow(const uint8_t* at) {
  return at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
}

// The position of a number in an enum or union; negative or at least num_elems if it is none of its members.
int64_t find_member(const TypeTable& type, int64_t number) {
  return flatbuffers::LookupEnum(number, type.values, type.num_elems);
}

bool is_member(const TypeTable& type, int64_t number) {
  const int64_t found = find_member(type, number);
  return found >= 0 && found < static_cast<int64_t>(type.num_elems);
}

// What the address of a value is a multiple of, for vectors of them.
size_t alignment(ElementaryType type, const TypeTable* of) {
  if (type != flatbuffers::ET_SEQUENCE || of->st != flatbuffers::ST_STRUCT) {
    return flatbuffers::InlineSize(type, of);
  }
  size_t most = 1;
  for (size_t i = 0; i < of->num_elems; ++i) {
    const flatbuffers::TypeCode code = of->type_codes[i];
    const TypeTable* inner = code.sequence_ref < 0 ? nullptr : of->type_refs[code.sequence_ref]();
    most = std::max(most, alignment(static_cast<ElementaryType>(code.base_type), inner));
  }
  return most;
}

using SizeVisitor = std::function<void(int64_t entry)>;

class FieldChecker {
 public:
  FieldChecker(size_t num_exprs, const EntryName& entry_name, const SizeVisitor& visit = nullptr)
      : num_exprs_(static_cast<int64_t>(num_exprs)), entry_name_(entry_name), visit_(visit) {}

  Status root(const uint8_t* table, const TypeTable& type) {
    return sequence(table, type, &entry_name_);
  }

 private:
  // A table or struct.
  Status sequence(const uint8_t* object, const TypeTable& type, const EntryName* entry_name = nullptr) {
    const uint8_t* previous = nullptr; // a field of a union follows the one that says of which type it is
    for (size_t i = 0; i < type.num_elems; ++i) {
      const flatbuffers::TypeCode code = type.type_codes[i];
      const auto base = static_cast<ElementaryType>(code.base_type);
      const TypeTable* of = code.sequence_ref < 0 ? nullptr : type.type_refs[code.sequence_ref]();
      const uint8_t* field = type.st == flatbuffers::ST_STRUCT
          ? object + type.values[i]
          : reinterpret_cast<const flatbuffers::Table*>(object)->GetAddressOf(
                flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i)));
      if (field != nullptr && code.is_repeating != 0) {
        ETX_RETURN_IF_ERROR(vector(follow(field), base, of, type.names[i], entry_name));
      } else if (field != nullptr && of != nullptr) {
        ETX_RETURN_IF_ERROR(value(field, base, *of, type.names[i], previous));
      }
      previous = field;
    }
    return {};
  }

  Status vector(
      const uint8_t* at, ElementaryType base, const TypeTable* of, const char* name, const EntryName* entry_name) {
    const auto& entries = *reinterpret_cast<const flatbuffers::Vector<uint8_t>*>(at);
    const size_t stride = flatbuffers::InlineSize(base, of);
    ETX_CHECK(
        entries.size() == 0 || reinterpret_cast<uintptr_t>(entries.Data()) % alignment(base, of) == 0,
        InvalidProgram,
        "the entries of its %s are not aligned",
        name);
    for (size_t i = 0; of != nullptr && i < entries.size(); ++i) {
      Status status = value(entries.Data() + i * stride, base, *of, name, nullptr);
      if (!status.ok()) {
        return entry_name == nullptr ? std::move(status) : std::move(status).in((*entry_name)(name, i));
      }
    }
    return {};
  }

  // A field or an entry of a vector whose type has a name in the schema.
  Status value(const uint8_t* at, ElementaryType base, const TypeTable& type, const char* name, const uint8_t* member) {
    switch (type.st) {
      case flatbuffers::ST_STRUCT:
        return &type == schema::SizeTypeTable() ? size(flatbuffers::ReadScalar<int64_t>(at), name) : sequence(at, type);
      case flatbuffers::ST_TABLE:
        return sequence(follow(at), type);
      case flatbuffers::ST_ENUM: {
        const int64_t number = read_integer(base, at);
        ETX_CHECK(
            is_member(type, number),
            InvalidProgram,
            "it has the unknown %s %" PRId64 "; this runtime knows those up to %s",
            name,
            number,
            type.names[type.num_elems - 1]);
        return {};
      }
      case flatbuffers::ST_UNION:
        return base == flatbuffers::ET_UTYPE ? union_type(*at, type, name) : union_value(at, type, name, member);
    }
    return {};
  }

  Status union_type(uint8_t number, const TypeTable& type, const char* name) {
    ETX_CHECK(is_member(type, number), InvalidProgram, "its %s is %d, which is no known type", name, number);
    return {};
  }

  // REQUIRES: union_type() accepted *member
  Status union_value(const uint8_t* at, const TypeTable& type, const char* name, const uint8_t* member) {
    ETX_CHECK(member != nullptr && *member != 0, InvalidProgram, "its %s has no type", name);
    const flatbuffers::TypeCode code = type.type_codes[find_member(type, *member)];
    return sequence(follow(at), *type.type_refs[code.sequence_ref]());
  }

  Status size(int64_t entry, const char* name) {
    if (visit_ != nullptr) {
      visit_(entry);
      return {};
    }
    ETX_CHECK(entry <= kMaxLiteralSize, InvalidProgram, "its %s has a size of %" PRId64 ", above 2^40", name, entry);
    ETX_CHECK(
        entry >= -num_exprs_,
        InvalidProgram,
        "its %s refers to size expression %" PRId64 ", which does not exist",
        name,
        -1 - entry);
    return {};
  }

  const int64_t num_exprs_;
  const EntryName& entry_name_;
  const SizeVisitor visit_;
};

} // namespace

Status check_fields(const void* table, const TypeTable& type, size_t num_exprs, const EntryName& entry_name) {
  return FieldChecker(num_exprs, entry_name).root(static_cast<const uint8_t*>(table), type);
}

void for_each_size(const void* table, const TypeTable& type, const SizeVisitor& visit) {
  const EntryName no_name = [](std::string_view, size_t) { return std::string(); };
  (void)FieldChecker(0, no_name, visit).root(static_cast<const uint8_t*>(table), type);
}

} // namespace executorch::backends::et_xnnpack
