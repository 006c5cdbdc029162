// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "verify.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <unordered_set>

#include "fields.h"
#include "quantization.h"
#include "runtime/base/text.h"
#include "scale.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kMaxEntries = 1 << 20; // of any vector of a graph
constexpr size_t kMaxNodes = 1 << 16; // XNNPACK and the arena take time that is quadratic in these

template <typename T>
size_t length(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Whether `order` holds each of 0 .. rank - 1 once.
bool is_permutation(const flatbuffers::Vector<uint8_t>* order, size_t rank) {
  uint32_t seen = 0;
  for (const uint8_t axis : *order) {
    if (axis >= rank || (seen >> axis & 1) != 0) {
      return false;
    }
    seen |= 1u << axis;
  }
  return order->size() == rank;
}

// One function for each part of a graph. Each relies on those that run before it.
class GraphVerifier {
 public:
  explicit GraphVerifier(const Blob& blob) : blob_(blob) {}

  Status run() {
    ETX_RETURN_IF_ERROR(counts());
    ETX_RETURN_IF_ERROR(fields());
    ETX_RETURN_IF_ERROR(values());
    ETX_RETURN_IF_ERROR(inputs());
    ETX_RETURN_IF_ERROR(states());
    ETX_RETURN_IF_ERROR(expressions());
    ETX_RETURN_IF_ERROR(ranges());
    ETX_RETURN_IF_ERROR(nodes());
    ETX_RETURN_IF_ERROR(outputs());
    return updates();
  }

 private:
  // What a value is known as so far.
  enum class Origin : uint8_t { Unknown, Constant, Input, Node, Output };

  Status counts() {
    ETX_CHECK(length(graph().values()) > 0, InvalidProgram, "the graph has no values");
    ETX_CHECK(
        length(graph().outputs()) + length(graph().states()) > 0,
        InvalidProgram,
        "the graph has no outputs and no states");
    const size_t most = std::max(
        {length(graph().values()),
         length(graph().nodes()),
         length(graph().inputs()),
         length(graph().outputs()),
         length(graph().states()),
         length(graph().exprs()),
         length(graph().ranges())});
    ETX_CHECK(
        most <= kMaxEntries,
        InvalidProgram,
        "a vector of the graph has %zu entries, but at most %zu are possible",
        most,
        kMaxEntries);
    ETX_CHECK(
        blob_.num_nodes() <= kMaxNodes,
        InvalidProgram,
        "the graph has %zu nodes, but at most %zu are possible",
        blob_.num_nodes(),
        kMaxNodes);
    return {};
  }

  // What the types of the schema say about every field, wherever it is.
  Status fields() {
    const auto entry_name = [this](std::string_view field, size_t i) {
      if (field == "nodes") {
        return blob_.describe(i);
      }
      const std::string_view one = field == "exprs" ? "size expression" : field.substr(0, field.size() - 1);
      return std::string(one) + " " + std::to_string(i); // values: "value 3"
    };
    return check_fields(&graph(), *schema::GraphTypeTable(), length(graph().exprs()), entry_name);
  }

  Status values() {
    origins_.resize(length(graph().values()));
    for (uint32_t id = 0; id < origins_.size(); ++id) {
      ETX_RETURN_IF_ERROR(value(id).in("value " + std::to_string(id)));
    }
    return {};
  }

  Status value(uint32_t id) {
    const schema::Value& value = blob_.value(id);
    ETX_CHECK(
        length(value.dims()) <= kMaxRank,
        InvalidProgram,
        "it has rank %zu, but at most %zu is possible",
        length(value.dims()),
        kMaxRank);
    if (value.quantization() != nullptr) {
      ETX_RETURN_IF_ERROR(check_quantization(value));
    }
    ETX_RETURN_IF_ERROR(result_order(value));
    if (value.constant() != nullptr) {
      ETX_RETURN_IF_ERROR(constant(id, *value.constant()));
      origins_[id] = Origin::Constant;
    }
    return {};
  }

  Status constant(uint32_t id, const schema::Constant& constant) {
    const schema::Value& value = blob_.value(id);
    const bool named = constant.key() != nullptr;
    ETX_CHECK(named != (constant.data() != nullptr), InvalidProgram, "a constant needs either a key or data");
    ETX_CHECK(!named || constant.key()->size() > 0, InvalidProgram, "the key of a constant is empty");
    ETX_CHECK(!named || is_name(constant.key()->string_view()), InvalidProgram, "the key of a constant is not UTF-8");
    TensorType type;
    type.dtype = to_dtype(value.dtype());
    for (uint32_t axis = 0; axis < length(value.dims()); ++axis) {
      const int64_t size = value.dims()->Get(axis)->value();
      ETX_CHECK(size >= 0, InvalidProgram, "the size of a constant is not a literal");
      type.shape.append(static_cast<size_t>(size));
    }
    ETX_RETURN_IF_ERROR(check_size(type));
    const schema::Storage storage = constant.storage();
    ETX_CHECK(
        storage == schema::Storage::Plain || type.dtype == DType::Float32,
        InvalidProgram,
        "a constant %s cannot be stored in 16 bits, as storage %d says",
        type.to_string().c_str(),
        static_cast<int>(storage));
    const size_t bytes = storage == schema::Storage::Plain ? type.bytes() : type.bytes() / 2;
    ETX_CHECK(
        named || constant.data()->size() == bytes,
        InvalidProgram,
        "a constant %s has %u bytes of data instead of %zu",
        type.to_string().c_str(),
        constant.data()->size(),
        bytes);
    return {};
  }

  Status dim_order(const flatbuffers::Vector<uint8_t>* order, uint32_t value) {
    ETX_CHECK(
        order == nullptr || is_permutation(order, length(blob_.value(value).dims())),
        InvalidProgram,
        "dim_order is not a permutation of the axes");
    return {};
  }

  Status result_order(const schema::Value& value) {
    ETX_CHECK(
        value.result_order() == nullptr || is_permutation(value.result_order(), length(value.dims())),
        InvalidProgram,
        "result_order is not a permutation of the axes");
    ETX_CHECK(
        value.result_order() == nullptr || value.quantization() == nullptr,
        InvalidProgram,
        "it is quantized, so there is no result to compare, but it has a result_order");
    return {};
  }

  // The caller sees integers as integers.
  Status check_not_quantized(uint32_t id) {
    ETX_CHECK(
        blob_.value(id).quantization() == nullptr,
        InvalidProgram,
        "value %u is quantized, but inputs, outputs and states cannot be",
        id);
    return {};
  }

  Status inputs() {
    for (size_t i = 0; i < blob_.num_inputs(); ++i) {
      ETX_RETURN_IF_ERROR(input(*graph().inputs()->Get(static_cast<uint32_t>(i))).in("input " + std::to_string(i)));
    }
    return {};
  }

  Status input(const schema::Input& input) {
    if (input.value() == kNone) {
      return {};
    }
    ETX_CHECK(input.value() < origins_.size(), InvalidProgram, "value %u does not exist", input.value());
    Origin& origin = origins_[input.value()];
    ETX_CHECK(origin == Origin::Unknown, InvalidProgram, "value %u is a constant or another input", input.value());
    ETX_RETURN_IF_ERROR(check_not_quantized(input.value()));
    origin = Origin::Input;
    return dim_order(input.dim_order(), input.value());
  }

  Status states() {
    std::unordered_set<std::string> names;
    for (uint32_t i = 0; i < length(graph().states()); ++i) {
      const schema::State& state = *graph().states()->Get(i);
      const std::string where = "state " + std::to_string(i);
      ETX_RETURN_IF_ERROR(this->state(state).in(where));
      if (!names.insert(state.name()->str()).second) {
        return failure(Error::InvalidProgram, "another state is named %s, too", state.name()->c_str()).in(where);
      }
    }
    return {};
  }

  Status state(const schema::State& state) {
    ETX_CHECK(state.name() != nullptr && state.name()->size() > 0, InvalidProgram, "it has no name");
    ETX_CHECK(is_name(state.name()->string_view()), InvalidProgram, "its name is not UTF-8");
    ETX_CHECK(
        state.value() < origins_.size() && origins_[state.value()] == Origin::Unknown,
        InvalidProgram,
        "value %u does not exist or is a constant, an input or another state",
        state.value());
    ETX_CHECK(state.initial() != nullptr, InvalidProgram, "it has no initial content");
    ETX_RETURN_IF_ERROR(check_not_quantized(state.value()));
    origins_[state.value()] = Origin::Input;
    return constant(state.value(), *state.initial());
  }

  Status updates() {
    for (uint32_t i = 0; i < length(graph().states()); ++i) {
      const schema::State& state = *graph().states()->Get(i);
      const uint32_t id = state.update();
      ETX_CHECK(
          id < origins_.size() && origins_[id] == Origin::Node,
          InvalidProgram,
          "the update of state %u is value %u, which no node makes or which is an output",
          i,
          id);
      origins_[id] = Origin::Output;
      ETX_RETURN_IF_ERROR(check_not_quantized(id));
      const auto* from = blob_.value(id).dims();
      const auto* to = blob_.value(state.value()).dims();
      bool same = blob_.value(id).dtype() == blob_.value(state.value()).dtype() && length(from) == length(to);
      for (uint32_t axis = 0; same && axis < length(from); ++axis) {
        same = from->Get(axis)->value() == to->Get(axis)->value();
      }
      ETX_CHECK(same, InvalidProgram, "the update of state %u is of another type than the state", i);
    }
    return {};
  }

  Status expressions() {
    for (size_t i = 0; i < length(graph().exprs()); ++i) {
      const schema::DimExpr& expr = *graph().exprs()->Get(static_cast<uint32_t>(i));
      ETX_RETURN_IF_ERROR(expression(expr, static_cast<int64_t>(i)).in("size expression " + std::to_string(i)));
    }
    return {};
  }

  Status expression(const schema::DimExpr& expr, int64_t index) {
    switch (expr.op()) {
      case schema::DimOp::Const:
        return {};
      case schema::DimOp::InputDim:
      case schema::DimOp::InputInt: {
        const bool is_int = expr.op() == schema::DimOp::InputInt;
        ETX_CHECK(
            expr.a() >= 0 && expr.a() < static_cast<int64_t>(blob_.num_inputs()),
            InvalidProgram,
            "input %" PRId64 " does not exist",
            expr.a());
        const uint32_t value = graph().inputs()->Get(static_cast<uint32_t>(expr.a()))->value();
        ETX_CHECK(
            is_int == (value == kNone),
            InvalidProgram,
            "input %" PRId64 " is %s",
            expr.a(),
            is_int ? "a tensor, not an integer" : "an integer, not a tensor");
        ETX_CHECK(
            is_int || (expr.b() >= 0 && expr.b() < static_cast<int64_t>(length(blob_.value(value).dims()))),
            InvalidProgram,
            "input %" PRId64 " has no axis %" PRId64,
            expr.a(),
            expr.b());
        return {};
      }
      case schema::DimOp::FoundSize:
        return found_size(expr.a(), index);
      case schema::DimOp::Add:
      case schema::DimOp::Mul:
      case schema::DimOp::FloorDiv:
      case schema::DimOp::Mod:
      case schema::DimOp::Min:
      case schema::DimOp::Max:
        break;
      case schema::DimOp::Scale: {
        const double factor = scale_factor(expr);
        ETX_CHECK(
            std::isfinite(factor) && factor > 0,
            InvalidProgram,
            "it scales by %g, which is not a positive number",
            factor);
        break;
      }
    }
    const bool reads_b = expr.op() != schema::DimOp::Scale;
    ETX_CHECK(
        expr.a() >= 0 && expr.a() < index && (!reads_b || (expr.b() >= 0 && expr.b() < index)),
        InvalidProgram,
        "it reads an expression that does not come before it");
    return {};
  }

  Status found_size(int64_t node, int64_t index) {
    ETX_CHECK(
        node >= 0 && node < static_cast<int64_t>(blob_.num_nodes()),
        InvalidProgram,
        "node %" PRId64 " does not exist",
        node);
    const schema::Size* size = size_to_find(blob_.node(static_cast<size_t>(node)));
    ETX_CHECK(
        size != nullptr && size->value() == -1 - index,
        InvalidProgram,
        "node %" PRId64 " does not find this size",
        node);
    return {};
  }

  Status ranges() {
    std::vector<bool> seen(length(graph().exprs()));
    for (uint32_t i = 0; i < length(graph().ranges()); ++i) {
      const schema::DimRange& range = *graph().ranges()->Get(i);
      ETX_CHECK(
          range.expr() < seen.size() && !seen[range.expr()],
          InvalidProgram,
          "range %u is for expression %u, which does not exist or has a range already",
          i,
          range.expr());
      seen[range.expr()] = true;
      ETX_CHECK(
          0 <= range.min() && range.min() <= range.planned() && range.planned() <= range.max() &&
              range.max() <= kMaxLiteralSize,
          InvalidProgram,
          "range %u is not ordered: 0 <= min <= planned <= max <= 2^40 must hold",
          i);
    }
    for (uint32_t i = 0; i < seen.size(); ++i) {
      ETX_CHECK(
          seen[i] || graph().exprs()->Get(i)->op() != schema::DimOp::FoundSize,
          InvalidProgram,
          "size expression %u is found in data, but has no range",
          i);
    }
    return {};
  }

  Status nodes() {
    for (size_t i = 0; i < blob_.num_nodes(); ++i) {
      const schema::Node& node = blob_.node(i);
      ETX_CHECK(
          node.attributes_type() != schema::Attributes::NONE && node.attributes() != nullptr,
          InvalidProgram,
          "node %zu has no attributes",
          i);
      ETX_RETURN_IF_ERROR(operands(node).in(blob_.describe(i)));
    }
    return {};
  }

  Status operands(const schema::Node& node) {
    for (uint32_t i = 0; i < length(node.inputs()); ++i) {
      const uint32_t id = node.inputs()->Get(i);
      ETX_CHECK(
          id == kNone || (id < origins_.size() && origins_[id] != Origin::Unknown),
          InvalidProgram,
          "input %u is value %u, which nothing before it makes",
          i,
          id);
    }
    ETX_CHECK(length(node.outputs()) > 0, InvalidProgram, "it has no outputs");
    for (const uint32_t id : *node.outputs()) {
      ETX_CHECK(
          id < origins_.size() && origins_[id] == Origin::Unknown,
          InvalidProgram,
          "it makes value %u, which does not exist or is made elsewhere",
          id);
      origins_[id] = Origin::Node;
    }
    return {};
  }

  Status outputs() {
    for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
      const schema::Output& output = *graph().outputs()->Get(i);
      ETX_CHECK(
          output.value() < origins_.size() && origins_[output.value()] == Origin::Node,
          InvalidProgram,
          "output %u is value %u, which no node makes or which is another output",
          i,
          output.value());
      origins_[output.value()] = Origin::Output;
      ETX_RETURN_IF_ERROR(check_not_quantized(output.value()).in("output " + std::to_string(i)));
      ETX_RETURN_IF_ERROR(dim_order(output.dim_order(), output.value()).in("output " + std::to_string(i)));
    }
    return {};
  }

  // Whatever fails at load is the fault of the blob, not of a call.
  const schema::Graph& graph() const {
    return blob_.graph();
  }

  const Blob& blob_;
  std::vector<Origin> origins_;
};

} // namespace

Status verify_graph(const Blob& blob) {
  return GraphVerifier(blob).run();
}

} // namespace executorch::backends::et_xnnpack
