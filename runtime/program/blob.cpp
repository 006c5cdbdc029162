// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "blob.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <new>
#include <unordered_set>

#include "quantization.h"
#include "scale.h"

namespace executorch::backends::et_xnnpack {

namespace {

constexpr uint64_t kSupportedFeatures =
    static_cast<uint64_t>(schema::Feature::Core) | static_cast<uint64_t>(schema::Feature::ScaledSizes);
constexpr size_t kMaxBlobBytes = size_t{1} << 31; // FlatBuffers offsets are 32 bits
constexpr size_t kMaxEntries = 1 << 20; // of any vector of a graph
constexpr size_t kMaxNodes = 1 << 16; // XNNPACK and the arena take time that is quadratic in these
constexpr int64_t kMaxLiteralSize = int64_t{1} << 40;
constexpr uint32_t kMaxDepth = 16;
constexpr uint32_t kMaxTables = 1 << 22;

template <typename T>
size_t length(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Whether the 8-byte elements of a vector lie where they may be read in place; the
// FlatBuffers verifier only looks at the vector's length.
template <typename T>
bool is_aligned(const flatbuffers::Vector<T>* vector) {
  return length(vector) == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(int64_t) == 0;
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

} // namespace

// The rules of Blob::open, one function for each part of a graph. Call in this order.
class BlobVerifier {
 public:
  explicit BlobVerifier(Span<const uint8_t> bytes) : bytes_(bytes) {}

  StatusOr<Blob> run() {
    ETX_RETURN_IF_ERROR(structure());
    ETX_RETURN_IF_ERROR(features());
    ETX_RETURN_IF_ERROR(counts());
    ETX_RETURN_IF_ERROR(values());
    ETX_RETURN_IF_ERROR(inputs());
    ETX_RETURN_IF_ERROR(states());
    ETX_RETURN_IF_ERROR(expressions());
    ETX_RETURN_IF_ERROR(ranges());
    ETX_RETURN_IF_ERROR(nodes());
    ETX_RETURN_IF_ERROR(outputs());
    ETX_RETURN_IF_ERROR(updates());
    ETX_RETURN_IF_ERROR(types());
    return std::move(blob_);
  }

 private:
  // What a value is known as so far.
  enum class Origin : uint8_t { Unknown, Constant, Input, Node, Output };

  Status structure() {
    // Root offset and file identifier.
    ETX_CHECK(bytes_.size() >= 8, InvalidProgram, "the blob has %zu bytes", bytes_.size());
    ETX_CHECK(bytes_.size() < kMaxBlobBytes, InvalidProgram, "the blob has %zu bytes", bytes_.size());
    ETX_CHECK(std::memcmp(bytes_.data() + 4, "ETX", 3) == 0, InvalidProgram, "this is not an et_xnnpack blob");
    ETX_CHECK(
        schema::GraphBufferHasIdentifier(bytes_.data()),
        DelegateInvalidCompatibility,
        "the blob has format ETX%c, this runtime reads %s: lower the model again with the et_xnnpack "
        "that is installed, or update the runtime",
        bytes_.data()[7] >= 32 && bytes_.data()[7] < 127 ? bytes_.data()[7] : '?',
        schema::GraphIdentifier());
    // operator new[] aligns for every scalar of the schema.
    blob_.bytes_.reset(new (std::nothrow) uint8_t[bytes_.size()]);
    ETX_CHECK(blob_.bytes_ != nullptr, MemoryAllocationFailed, "no memory for %zu bytes", bytes_.size());
    std::memcpy(blob_.bytes_.get(), bytes_.data(), bytes_.size());
    flatbuffers::Verifier verifier(blob_.bytes_.get(), bytes_.size(), kMaxDepth, kMaxTables);
    ETX_CHECK(schema::VerifyGraphBuffer(verifier), InvalidProgram, "the blob is truncated or corrupt");
    blob_.graph_ = schema::GetGraph(blob_.bytes_.get());
    return {};
  }

  Status features() {
    const uint64_t missing = graph().requires_() & ~kSupportedFeatures;
    ETX_CHECK(
        missing == 0,
        DelegateInvalidCompatibility,
        "the blob needs features 0x%" PRIx64 " that this runtime lacks: update the runtime",
        missing);
    return {};
  }

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
    ETX_CHECK(most <= kMaxEntries, InvalidProgram, "a vector of the graph has %zu entries", most);
    ETX_CHECK(
        is_aligned(graph().exprs()) && is_aligned(graph().ranges()),
        InvalidProgram,
        "size expressions or ranges are not aligned");
    ETX_CHECK(blob_.num_nodes() <= kMaxNodes, InvalidProgram, "the graph has %zu nodes", blob_.num_nodes());
    return {};
  }

  // An entry of a vector of sizes.
  Status entry(int64_t entry) {
    ETX_CHECK(entry <= kMaxLiteralSize, InvalidProgram, "a size of %" PRId64, entry);
    ETX_CHECK(
        entry >= -static_cast<int64_t>(length(graph().exprs())),
        InvalidProgram,
        "size expression %" PRId64 " does not exist",
        -1 - entry);
    return {};
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
        element_size(to_dtype(value.dtype())) != 0,
        InvalidProgram,
        "unknown dtype %d",
        static_cast<int>(value.dtype()));
    ETX_CHECK(length(value.dims()) <= kMaxRank, InvalidProgram, "rank %zu", length(value.dims()));
    ETX_CHECK(is_aligned(value.dims()), InvalidProgram, "its sizes are not aligned");
    if (value.dims() != nullptr) {
      for (const int64_t dim : *value.dims()) {
        ETX_RETURN_IF_ERROR(entry(dim));
      }
    }
    if (value.quantization() != nullptr) {
      ETX_RETURN_IF_ERROR(check_quantization(value));
    }
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
      ETX_CHECK(value.dims()->Get(axis) >= 0, InvalidProgram, "the size of a constant is not a literal");
      type.shape.append(static_cast<size_t>(value.dims()->Get(axis)));
    }
    ETX_RETURN_IF_ERROR(check_size(type));
    const schema::Storage storage = constant.storage();
    ETX_CHECK(
        storage == schema::Storage::Plain || (storage <= schema::Storage::MAX && type.dtype == DType::Float32),
        InvalidProgram,
        "a constant %s cannot have storage %d",
        type.to_string().c_str(),
        static_cast<int>(storage));
    const size_t bytes = storage == schema::Storage::Plain ? type.bytes() : type.bytes() / 2;
    ETX_CHECK(
        named || constant.data()->size() == bytes,
        InvalidProgram,
        "a constant %s has %u bytes",
        type.to_string().c_str(),
        constant.data()->size());
    return {};
  }

  Status dim_order(const flatbuffers::Vector<uint8_t>* order, uint32_t value) {
    ETX_CHECK(
        order == nullptr || is_permutation(order, length(blob_.value(value).dims())),
        InvalidProgram,
        "dim_order is not a permutation of the axes");
    return {};
  }

  // Who calls sees integers as integers.
  Status at_border(uint32_t id) {
    ETX_CHECK(blob_.value(id).quantization() == nullptr, InvalidProgram, "value %u is quantized", id);
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
    ETX_RETURN_IF_ERROR(at_border(input.value()));
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
        return failure(Error::InvalidProgram, "there is another one named %s", state.name()->c_str()).in(where);
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
    ETX_RETURN_IF_ERROR(at_border(state.value()));
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
      ETX_RETURN_IF_ERROR(at_border(id));
      const auto* from = blob_.value(id).dims();
      const auto* to = blob_.value(state.value()).dims();
      bool same = blob_.value(id).dtype() == blob_.value(state.value()).dtype() && length(from) == length(to);
      for (uint32_t axis = 0; same && axis < length(from); ++axis) {
        same = from->Get(axis) == to->Get(axis);
      }
      ETX_CHECK(same, InvalidProgram, "the update of state %u is of another type", i);
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
    ETX_CHECK(expr.op() <= schema::DimOp::MAX, InvalidProgram, "unknown op %d", static_cast<int>(expr.op()));
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
        ETX_CHECK(is_int == (value == kNone), InvalidProgram, "input %" PRId64 " is of the other kind", expr.a());
        ETX_CHECK(
            is_int || (expr.b() >= 0 && expr.b() < static_cast<int64_t>(length(blob_.value(value).dims()))),
            InvalidProgram,
            "input %" PRId64 " has no axis %" PRId64,
            expr.a(),
            expr.b());
        return {};
      }
      case schema::DimOp::Add:
      case schema::DimOp::Mul:
      case schema::DimOp::FloorDiv:
      case schema::DimOp::Mod:
      case schema::DimOp::Min:
      case schema::DimOp::Max:
        break;
      case schema::DimOp::Scale: {
        const double factor = scale_factor(expr);
        ETX_CHECK(std::isfinite(factor) && factor > 0, InvalidProgram, "scales by %g", factor);
        break;
      }
    }
    const bool reads_b = expr.op() != schema::DimOp::Scale;
    ETX_CHECK(
        expr.a() >= 0 && expr.a() < index && (!reads_b || (expr.b() >= 0 && expr.b() < index)),
        InvalidProgram,
        "reads an expression that does not come before it");
    return {};
  }

  Status ranges() {
    std::vector<bool> seen(length(graph().exprs()));
    for (uint32_t i = 0; i < length(graph().ranges()); ++i) {
      const schema::DimRange& range = *graph().ranges()->Get(i);
      ETX_CHECK(
          range.expr() < seen.size() && !seen[range.expr()],
          InvalidProgram,
          "range %u is for expression %u, which does not exist or has one",
          i,
          range.expr());
      seen[range.expr()] = true;
      ETX_CHECK(
          0 <= range.min() && range.min() <= range.planned() && range.planned() <= range.max() &&
              range.max() <= kMaxLiteralSize,
          InvalidProgram,
          "range %u is not ordered",
          i);
    }
    return {};
  }

  Status nodes() {
    for (size_t i = 0; i < blob_.num_nodes(); ++i) {
      const schema::Node& node = blob_.node(i);
      ETX_CHECK(
          node.attributes_type() > schema::Attributes::NONE && node.attributes_type() <= schema::Attributes::MAX &&
              node.attributes() != nullptr,
          InvalidProgram,
          "node %zu has no attributes of a known type",
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
      ETX_RETURN_IF_ERROR(at_border(output.value()).in("output " + std::to_string(i)));
      ETX_RETURN_IF_ERROR(dim_order(output.dim_order(), output.value()).in("output " + std::to_string(i)));
    }
    return {};
  }

  // Entries of sizes inside attributes, then every node at the planned sizes.
  Status types() {
    for (size_t i = 0; i < blob_.num_nodes(); ++i) {
      ETX_RETURN_IF_ERROR(attribute_sizes(blob_.node(i)).in(blob_.describe(i)));
    }
    ETX_ASSIGN_OR_RETURN(const Sizes sizes, as_program_error(planned_sizes(graph())));
    return as_program_error(blob_.infer_types(sizes)).status();
  }

  Status attribute_sizes(const schema::Node& node) {
    const flatbuffers::Vector<int64_t>* shape = nullptr;
    if (const auto* reshape = node.attributes_as_Reshape()) {
      shape = reshape->shape();
    } else if (const auto* expand = node.attributes_as_Expand()) {
      shape = expand->shape();
    } else if (const auto* resize = node.attributes_as_Resize2d()) {
      shape = resize->shape();
    } else if (const auto* scatter = node.attributes_as_SliceScatter()) {
      shape = scatter->start();
    } else if (const auto* slice = node.attributes_as_Slice()) {
      ETX_RETURN_IF_ERROR(entry(slice->start()));
      ETX_RETURN_IF_ERROR(entry(slice->size()));
    } else if (const auto* iota = node.attributes_as_Iota()) {
      ETX_RETURN_IF_ERROR(entry(iota->size()));
    } else if (const auto* value = node.attributes_as_SizeValue()) {
      ETX_RETURN_IF_ERROR(entry(value->size()));
    }
    ETX_CHECK(is_aligned(shape), InvalidProgram, "its shape is not aligned");
    for (uint32_t i = 0; i < length(shape); ++i) {
      ETX_RETURN_IF_ERROR(entry(shape->Get(i)));
    }
    return {};
  }

  // Whatever fails at load is the fault of the blob, not of a call.
  template <typename T>
  static StatusOr<T> as_program_error(StatusOr<T> result) {
    if (!result.ok()) {
      return Status(Error::InvalidProgram, result.status().message());
    }
    return result;
  }

  const schema::Graph& graph() const {
    return *blob_.graph_;
  }

  Span<const uint8_t> bytes_;
  Blob blob_;
  std::vector<Origin> origins_;
};

StatusOr<Blob> Blob::open(Span<const uint8_t> bytes) {
  return BlobVerifier(bytes).run();
}

StatusOr<std::vector<TensorType>> Blob::infer_types(const Sizes& sizes) const {
  std::vector<TensorType> declared(num_values());
  for (uint32_t id = 0; id < num_values(); ++id) {
    declared[id].dtype = to_dtype(value(id).dtype());
    if (value(id).quantization() != nullptr) {
      declared[id].dtype = DType::Float32;
      declared[id].quantization = value(id).quantization();
      declared[id].stored = to_dtype(value(id).dtype());
    } else if (const schema::Constant* constant = value(id).constant(); constant != nullptr) {
      declared[id].stored = stored_type(*constant, to_dtype(value(id).dtype()));
    }
    StatusOr<Shape> shape = sizes.resolve(value(id).dims());
    if (!shape.ok()) {
      return Status(shape.status()).in("value " + std::to_string(id));
    }
    declared[id].shape = *shape;
    ETX_RETURN_IF_ERROR(check_size(declared[id]).in("value " + std::to_string(id)));
  }
  std::vector<TensorType> made;
  for (size_t i = 0; i < num_nodes(); ++i) {
    const BoundNode bound(*this, i, {declared.data(), declared.size()}, sizes);
    made.assign(node(i).outputs()->size(), {});
    const OpImpl& op = op_impl(node(i).attributes_type());
    ETX_RETURN_IF_ERROR(check_quantized(op, bound.context()).in(describe(i)));
    ETX_RETURN_IF_ERROR(op.infer(bound.context(), {made.data(), made.size()}).in(describe(i)));
    for (uint32_t k = 0; k < made.size(); ++k) {
      const TensorType& expected = declared[node(i).outputs()->Get(k)];
      if (made[k] != expected) {
        return failure(
                   Error::InvalidProgram,
                   "it makes %s, declared is %s",
                   made[k].to_string().c_str(),
                   expected.to_string().c_str())
            .in(describe(i));
      }
    }
  }
  return declared;
}

std::string Blob::name(size_t i) const {
  return std::to_string(i) + " " + schema::EnumNameAttributes(node(i).attributes_type());
}

std::string Blob::describe(size_t i) const {
  return "node " + name(i) + " (debug handle " + std::to_string(node(i).debug_handle()) + ")";
}

BoundNode::BoundNode(const Blob& blob, size_t i, Span<const TensorType> types, const Sizes& sizes)
    : inputs_(length(blob.node(i).inputs())),
      constant_(std::make_unique<bool[]>(inputs_.size())),
      outputs_(blob.node(i).outputs()->size()),
      context_(
          blob.node(i),
          {inputs_.data(), inputs_.size()},
          {constant_.get(), inputs_.size()},
          {outputs_.data(), outputs_.size()},
          sizes) {
  const schema::Node& node = blob.node(i);
  for (uint32_t k = 0; k < inputs_.size(); ++k) {
    const uint32_t id = node.inputs()->Get(k);
    if (id != kNone) {
      inputs_[k] = &types[id];
      constant_[k] = blob.is_constant(id);
    }
  }
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    outputs_[k] = types[node.outputs()->Get(k)];
  }
}

} // namespace executorch::backends::et_xnnpack
