// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>
#include <cstdio>

#include <flatbuffers/minireflect.h>

#include "blob.h"
#include "runtime/base/text.h"
#include "scale.h"

namespace executorch::backends::et_xnnpack {
namespace {

std::string expression(const Blob& blob, int64_t index);

// `entry` is the value of a schema::Size.
std::string size(const Blob& blob, int64_t entry) {
  return entry >= 0 ? std::to_string(entry) : expression(blob, -1 - entry);
}

std::string expression(const Blob& blob, int64_t index) {
  const schema::DimExpr& expr = *blob.graph().exprs()->Get(static_cast<uint32_t>(index));
  switch (expr.op()) {
    case schema::DimOp::Const:
      return std::to_string(expr.a());
    case schema::DimOp::InputDim:
      return "in" + std::to_string(expr.a()) + "." + std::to_string(expr.b());
    case schema::DimOp::InputInt:
      return "in" + std::to_string(expr.a());
    case schema::DimOp::FoundSize:
      return "found by " + blob.name(static_cast<size_t>(expr.a()));
    case schema::DimOp::Scale: {
      char number[32];
      std::snprintf(number, sizeof(number), "%.17g", scale_factor(expr));
      return "Scale(e" + std::to_string(expr.a()) + ", " + number + ")";
    }
    default:
      return std::string(schema::EnumNameDimOp(expr.op())) + "(e" + std::to_string(expr.a()) + ", e" +
          std::to_string(expr.b()) + ")";
  }
}

std::string operands(const flatbuffers::Vector<uint32_t>* ids) {
  std::string text;
  if (ids != nullptr) {
    for (const uint32_t id : *ids) {
      text += (text.empty() ? "" : ", ") + (id == kNone ? std::string("none") : "%" + std::to_string(id));
    }
  }
  return text;
}

constexpr size_t kMaxElements = 16; // of a vector that are written

// The fields of a table that are present, by the names of the schema: " axis=1 stride=(2, 2)". A
// field that is absent has its default; enums have their first value then and are written in any case.
class FieldsText : public flatbuffers::IterationVisitor {
 public:
  explicit FieldsText(const Blob& blob) : blob_(blob) {}

  std::string take() {
    return std::move(text_);
  }

 private:
  void StartSequence() override {
    if (depth_++ > 0 && !is_size_) {
      open();
    }
  }
  void EndSequence() override {
    if (--depth_ > 0 && !is_size_) {
      close();
    }
  }
  void StartVector() override {
    open();
  }
  void EndVector() override {
    if (element_ >= kMaxElements) {
      text_ += ", ... " + std::to_string(element_ + 1) + " in all";
    }
    element_ = 0;
    close();
  }
  void Element(size_t i, flatbuffers::ElementaryType, const flatbuffers::TypeTable*, const uint8_t*) override {
    element_ = i;
  }
  void Field(
      size_t,
      size_t,
      flatbuffers::ElementaryType,
      bool is_vector,
      const flatbuffers::TypeTable* type,
      const char* name,
      const uint8_t* value) override {
    if (depth_ > 1) {
      return; // of a struct, whose fields go without names
    }
    const bool is_enum = type != nullptr && type->st == flatbuffers::ST_ENUM && !is_vector;
    if (value != nullptr || is_enum) {
      text_ += std::string(" ") + name + "=";
    }
    if (value == nullptr && is_enum) {
      text_ += type->names[0];
    }
    is_size_ = type == schema::SizeTypeTable();
  }

  void UType(uint8_t x, const char* name) override {
    add(x, name);
  }
  void Bool(bool x) override {
    item(x ? "true" : "false");
  }
  void Char(int8_t x, const char* name) override {
    add(x, name);
  }
  void UChar(uint8_t x, const char* name) override {
    add(x, name);
  }
  void Short(int16_t x, const char* name) override {
    add(x, name);
  }
  void UShort(uint16_t x, const char* name) override {
    add(x, name);
  }
  void Int(int32_t x, const char* name) override {
    add(x, name);
  }
  void UInt(uint32_t x, const char* name) override {
    add(x, name);
  }
  void Long(int64_t x) override {
    item(is_size_ ? size(blob_, x) : std::to_string(x));
  }
  void ULong(uint64_t x) override {
    item(std::to_string(x));
  }
  void Float(float x) override {
    add(static_cast<double>(x));
  }
  void Double(double x) override {
    add(x);
  }
  void String(const flatbuffers::String* x) override {
    item(printable(x->string_view()));
  }

  void add(int64_t x, const char* name) {
    item(name == nullptr ? std::to_string(x) : name);
  }
  void add(double x) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.7g", x);
    item(number);
  }
  void item(const std::string& word) {
    if (element_ >= kMaxElements) {
      return;
    }
    separate();
    text_ += word;
  }
  void open() {
    separate();
    text_ += "(";
  }
  void close() {
    text_ += ")";
  }
  void separate() {
    if (text_.back() != '=' && text_.back() != '(') {
      text_ += ", ";
    }
  }

  const Blob& blob_;
  std::string text_;
  int depth_ = 0;
  size_t element_ = 0; // of a vector
  bool is_size_ = false;
};

std::string fields(const Blob& blob, const void* table, const flatbuffers::TypeTable& type) {
  FieldsText text(blob);
  flatbuffers::IterateObject(static_cast<const uint8_t*>(table), &type, &text);
  return text.take();
}

std::string attributes(const Blob& blob, const schema::Node& node) {
  const flatbuffers::TypeTable& types = *schema::AttributesTypeTable();
  const auto member = static_cast<size_t>(node.attributes_type());
  return fields(blob, node.attributes(), *types.type_refs[types.type_codes[member].sequence_ref]());
}

std::string name_of(const schema::State& state) {
  return printable(state.name()->string_view());
}

std::string type(const Blob& blob, uint32_t id) {
  const schema::Value& value = blob.value(id);
  std::string text = "%" + std::to_string(id) + ": " + name_of(to_dtype(value.dtype())) + "[";
  if (value.dims() != nullptr) {
    for (uint32_t axis = 0; axis < value.dims()->size(); ++axis) {
      text += (axis == 0 ? "" : ", ") + size(blob, value.dims()->Get(axis)->value());
    }
  }
  text += "]";
  if (value.quantization() != nullptr) {
    text += " quantized" + fields(blob, value.quantization(), *schema::QuantizationTypeTable());
  }
  return text;
}

} // namespace

std::string inspect(const Blob& blob) {
  std::string text;
  const schema::Graph& graph = blob.graph();
  for (uint32_t i = 0; graph.exprs() != nullptr && i < graph.exprs()->size(); ++i) {
    text += "size e" + std::to_string(i) + " = " + expression(blob, i) + "\n";
  }
  for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
    const uint32_t id = graph.inputs()->Get(i)->value();
    text += "in " + (id == kNone ? std::string("integer") : type(blob, id)) + "\n";
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    text += "state " + type(blob, blob.state(i).value()) + " of " + name_of(blob.state(i)) + "\n";
  }
  for (uint32_t id = 0; id < blob.num_values(); ++id) {
    if (const schema::Constant* constant = blob.value(id).constant()) {
      text += "const " + type(blob, id) + " = " +
          (constant->key() != nullptr ? "#" + printable(constant->key()->string_view().substr(0, 8))
                                      : std::to_string(constant->data()->size()) + " bytes") +
          (constant->storage() == schema::Storage::Plain
               ? ""
               : std::string(" stored as ") + schema::EnumNameStorage(constant->storage())) +
          "\n";
    }
  }
  for (size_t i = 0; i < blob.num_nodes(); ++i) {
    const schema::Node& node = blob.node(i);
    std::string outputs;
    for (const uint32_t id : *node.outputs()) {
      outputs += (outputs.empty() ? "" : ", ") + type(blob, id);
    }
    text += outputs + " = " + schema::EnumNameAttributes(node.attributes_type()) + "(" + operands(node.inputs()) + ")" +
        attributes(blob, node) + " @" + std::to_string(node.debug_handle()) + "\n";
  }
  for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
    text += "out %" + std::to_string(graph.outputs()->Get(i)->value()) + "\n";
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    text += "set " + name_of(blob.state(i)) + " %" + std::to_string(blob.state(i).update()) + "\n";
  }
  return text;
}

} // namespace executorch::backends::et_xnnpack
