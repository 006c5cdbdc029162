// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "mutator.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "blob_tree.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using reflection::Field;

constexpr int64_t kIntegers[] = {
    0,          1,
    2,          3,
    4,          5,
    7,          8,
    15,         16,
    17,         31,
    32,         63,
    64,         65,
    127,        128,
    255,        256,
    1023,       32767,
    65535,      65536,
    0x7fffffff, 1LL << 31,
    0xfffffffe, -1,
    -2,         -3,
    0xffffffff, 1LL << 32,
    1LL << 40,  (1LL << 40) + 1,
    INT64_MAX,  INT64_MIN,
};
constexpr double kFloats[] = {
    0,
    -0.0,
    1,
    -1,
    0.5,
    2,
    3,
    6,
    1e-5,
    1e-12,
    1e-38,
    1e-45,
    1e30,
    3e38,
    -3e38,
    1e300,
    255,
    -128,
    65504,
    1e-320,
    std::numeric_limits<double>::infinity(),
    -std::numeric_limits<double>::infinity(),
    std::numeric_limits<double>::quiet_NaN(),
};

template <typename T>
uint64_t bits_of(T number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(number));
  return bits;
}

// What may stand in for another.
using Kind = std::tuple<reflection::BaseType, int32_t, reflection::BaseType>;

Kind kind_of(const Item& item) {
  return {item.type, item.index, item.type == reflection::Vector ? item.element() : reflection::None};
}

class Mutation {
 public:
  Mutation(Item& root, std::mt19937& random) : random_(random) {
    list(root);
  }

  // Any change to anything.
  void change() {
    if (one_in(8)) {
      return change_alike();
    }
    if (one_in(24)) {
      return name_constants();
    }
    Item& item = pick();
    if (item.field != nullptr && one_in(6)) {
      return replace(item);
    }
    if (item.is_scalar()) {
      item.bits = another_number(item);
    } else if (item.type == reflection::Vector) {
      change_vector(item);
    } else if (item.type == reflection::Union) {
      change_member(item);
    } else if (item.type == reflection::String) {
      change_text(item);
    } else if (item.is_table()) {
      change_table(item);
    } else {
      Item& member = item.items[below(item.items.size())];
      member.bits = another_number(member);
    }
  }

  // One thing becomes that of the same kind elsewhere.
  void replace_from(const Mutation& other) {
    for (int i = 0; i < 16; ++i) { // until there is one
      Item& item = pick();
      const auto found = other.by_kind_.find(kind_of(item));
      if (item.field != nullptr && found != other.by_kind_.end()) {
        return put(item, *found->second[below(found->second.size())]);
      }
    }
  }

 private:
  size_t below(size_t count) {
    return random_() % count;
  }
  bool one_in(size_t count) {
    return below(count) == 0;
  }

  // All that is in it, by place in the schema and by kind.
  void list(Item& item) {
    const Kind kind = kind_of(item);
    by_place_[{item.field, kind}].push_back(&item);
    by_kind_[kind].push_back(&item);
    if (item.type == reflection::Vector && !item.items.empty() && item.items[0].is_scalar()) {
      const Kind of_elements = kind_of(item.items[0]); // a constant has many
      auto &place = by_place_[{item.field, of_elements}], &alike = by_kind_[of_elements];
      for (Item& element : item.items) {
        place.push_back(&element);
        alike.push_back(&element);
      }
      return;
    }
    for (Item& inner : item.items) {
      list(inner);
    }
  }

  // Every place of the schema is as likely as any other, however many bytes a constant has.
  Item& pick() {
    const auto& items = std::next(by_place_.begin(), static_cast<ptrdiff_t>(below(by_place_.size())))->second;
    return *items[below(items.size())];
  }

  // Keeps the place that it is in. The copy comes first: one may be inside of the other.
  static void put(Item& item, Item with) {
    set_field(with, item.field);
    item = std::move(with);
  }

  void replace(Item& item) {
    const auto& alike = by_kind_[kind_of(item)];
    put(item, *alike[below(alike.size())]);
  }

  // All equal numbers of one kind become another number, so that what belongs together still does.
  void change_alike() {
    Item& item = pick();
    if (!item.is_scalar()) {
      return;
    }
    const uint64_t bits = item.bits, with = another_number(item);
    for (Item* other : by_kind_[kind_of(item)]) {
      // A Long may be a size, or an operand of an expression.
      if (other->bits == bits && (item.type != reflection::Long || other->field == item.field)) {
        other->bits = with;
      }
    }
  }

  // Constants leave the blob, so that their sizes may change.
  void name_constants() {
    const auto& fields =
        *blob_schema().objects()->LookupByKey("executorch.backends.et_xnnpack.schema.Constant")->fields();
    const Field *const data = fields.LookupByKey("data"), *const key = fields.LookupByKey("key");
    for (const auto& [place, items] : by_place_) {
      for (Item* constant : items) {
        if (constant->items.size() == 1 && constant->items[0].field == data && constant->is_table()) {
          Item name = new_item(*key);
          name.text = "c" + std::to_string(constant->items[0].items.size());
          constant->items = {std::move(name)};
        }
      }
    }
  }

  uint64_t another_number(const Item& item) {
    const auto& alike = by_kind_[kind_of(item)];
    if (!alike.empty() && one_in(3)) {
      return alike[below(alike.size())]->bits;
    }
    if (one_in(12)) {
      return item.bits ^ (uint64_t{1} << below(8 * flatbuffers::GetTypeSize(item.type)));
    }
    if (item.index >= 0 && !one_in(16)) {
      const auto& members = *blob_schema().enums()->Get(static_cast<uint32_t>(item.index))->values();
      return static_cast<uint64_t>(members.Get(static_cast<uint32_t>(below(members.size())))->value());
    }
    const double number = kFloats[below(std::size(kFloats))];
    switch (item.type) {
      case reflection::Bool:
        return 1 - (item.bits & 1);
      case reflection::Float:
        return bits_of(static_cast<float>(number));
      case reflection::Double:
        return bits_of(number);
      default:
        return one_in(2) ? item.bits + below(9) - 4 : static_cast<uint64_t>(kIntegers[below(std::size(kIntegers))]);
    }
  }

  void change_vector(Item& vector) {
    auto& items = vector.items;
    const auto at = [&](size_t i) { return items.begin() + static_cast<ptrdiff_t>(i); };
    switch (items.empty() ? 0 : below(6)) {
      case 0:
        items.insert(at(below(items.size() + 1)), new_element(vector));
        break;
      case 1: {
        Item copy = items[below(items.size())];
        items.insert(at(below(items.size() + 1)), std::move(copy));
        break;
      }
      case 2:
        items.erase(at(below(items.size())));
        break;
      case 3:
        items.resize(below(items.size()));
        break;
      case 4:
        std::swap(items[below(items.size())], items[below(items.size())]);
        break;
      default:
        std::rotate(items.begin(), at(below(items.size())), items.end());
    }
  }

  void change_table(Item& table) {
    const auto& fields = *blob_schema().objects()->Get(static_cast<uint32_t>(table.index))->fields();
    if (fields.size() == 0) {
      return;
    }
    const Field* field = fields.Get(static_cast<uint32_t>(below(fields.size())));
    if (field->type()->base_type() == reflection::UType) {
      return;
    }
    const auto there =
        std::find_if(table.items.begin(), table.items.end(), [&](const Item& item) { return item.field == field; });
    if (there != table.items.end()) {
      table.items.erase(there);
      return;
    }
    Item item = new_item(*field);
    if (item.is_scalar()) {
      item.bits = another_number(item);
    } else if (const auto alike = by_kind_.find(kind_of(item)); alike != by_kind_.end() && !one_in(4)) {
      put(item, *alike->second[below(alike->second.size())]);
    }
    table.items.push_back(std::move(item));
  }

  // Another operator with the same operands. What both have under one name, such as an axis, stays.
  void change_member(Item& item) {
    const auto& members = *blob_schema().enums()->Get(static_cast<uint32_t>(item.index))->values();
    Item with = new_member(item, one_in(64) ? below(256) : below(members.size()));
    if (!with.items.empty() && !item.items.empty()) {
      const auto& fields = *blob_schema().objects()->Get(static_cast<uint32_t>(with.items[0].index))->fields();
      for (Item& old : item.items[0].items) {
        const Field* same = fields.LookupByKey(old.field->name()->c_str());
        if (same != nullptr && kind_of(new_item(*same)) == kind_of(old)) {
          set_field(old, same);
          with.items[0].items.push_back(std::move(old));
        }
      }
    }
    put(item, std::move(with));
  }

  // Elements of a vector are in the field that it is in.
  static void set_field(Item& item, const Field* field) {
    item.field = field;
    if (item.type == reflection::Vector) {
      for (Item& element : item.items) {
        element.field = field;
      }
    }
  }

  void change_text(Item& item) {
    if (item.text.empty() || one_in(2)) {
      item.text.push_back(static_cast<char>(random_()));
    } else if (one_in(4)) {
      item.text.clear();
    } else {
      item.text[below(item.text.size())] ^= static_cast<char>(1 << below(8));
    }
  }

  std::mt19937& random_;
  template <typename Key>
  using ItemsBy =
      std::map<Key, ScratchVector<Item*>, std::less<>, ScratchAllocator<std::pair<const Key, ScratchVector<Item*>>>>;
  ItemsBy<std::pair<const Field*, Kind>> by_place_;
  ItemsBy<Kind> by_kind_;
};

} // namespace

std::vector<uint8_t> mutate_blob(const std::vector<uint8_t>& blob, std::mt19937& random) {
  const Scratch scratch;
  std::optional<Item> root = read_blob(blob.data(), blob.size());
  if (!root) {
    return blob;
  }
  for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
    Mutation(*root, random).change();
  }
  return write_blob(*root);
}

std::vector<uint8_t> cross_blobs(
    const std::vector<uint8_t>& blob, const std::vector<uint8_t>& other, std::mt19937& random) {
  const Scratch scratch;
  std::optional<Item> root = read_blob(blob.data(), blob.size()), from = read_blob(other.data(), other.size());
  if (!root || !from) {
    return blob;
  }
  Mutation(*root, random).replace_from(Mutation(*from, random));
  return write_blob(*root);
}

} // namespace executorch::backends::et_xnnpack::testing
