// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// A graph as plain data that a test may change, well-formed or not, and the bytes of its blob.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/ops/infer.h>

#include "sizes_of.h"

namespace executorch::backends::et_xnnpack::testing {

struct ConstantDef {
  std::optional<std::string> key;
  std::optional<std::vector<uint8_t>> data;
  schema::Storage storage = schema::Storage::Plain;
};

struct QuantizationDef {
  std::vector<float> scale;
  std::vector<int32_t> zero_point;
  uint8_t axis = 0;
};

struct ValueDef {
  DType dtype = DType::Float32;
  std::vector<int64_t> dims;
  std::optional<ConstantDef> constant;
  std::optional<QuantizationDef> quantization = std::nullopt;
  std::optional<std::vector<uint8_t>> result_order = std::nullopt;
};

// The attributes of a node: an offset that `make` writes, null if there is none.
struct AttributesDef {
  schema::Attributes type = schema::Attributes::NONE;
  std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)> make;
};

struct NodeDef {
  AttributesDef attributes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  uint32_t debug_handle = 0;
};

// An input or output of the graph.
struct ArgumentDef {
  uint32_t value = kNone;
  std::vector<uint8_t> dim_order; // empty: absent
};

struct StateDef {
  std::optional<std::string> name;
  uint32_t value = kNone;
  uint32_t update = kNone;
  std::optional<ConstantDef> initial;
};

inline schema::DType to_schema(DType dtype) {
  return static_cast<schema::DType>(dtype);
}

// A factor of DimOp::Scale as an operand.
int64_t bits_of(double factor);

struct GraphDef {
  uint64_t required_features = static_cast<uint64_t>(schema::Feature::Core);
  std::vector<schema::DimExpr> exprs;
  std::vector<schema::DimRange> ranges;
  std::vector<ValueDef> values;
  std::vector<NodeDef> nodes;
  std::vector<ArgumentDef> inputs;
  std::vector<ArgumentDef> outputs;
  std::vector<StateDef> states;
  std::string identifier = "ETX1";

  // Each adds one thing; the result is the id of the new value.
  uint32_t value(const std::vector<int64_t>& dims, DType dtype = DType::Float32);
  uint32_t input(const std::vector<int64_t>& dims, DType dtype = DType::Float32);
  uint32_t constant(const std::vector<int64_t>& dims, const std::vector<float>& data);
  uint32_t named(const std::vector<int64_t>& dims, const std::string& key, DType dtype = DType::Float32);
  // A state; its update is still to be set.
  uint32_t state(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& initial);
  // A node that makes one new value.
  uint32_t node(
      AttributesDef attributes,
      std::vector<uint32_t> operands,
      const std::vector<int64_t>& dims,
      DType dtype = DType::Float32);
  // Makes a value one that holds integers.
  uint32_t quantized(uint32_t id, float scale = 0.25f, int32_t zero_point = 0, DType dtype = DType::Int8);
  // A constant of integers.
  uint32_t integers(const std::vector<int64_t>& dims, QuantizationDef quantization, DType dtype = DType::Int8);
  // One more output of the last node.
  uint32_t also(const std::vector<int64_t>& dims, DType dtype = DType::Float32);
  void output(uint32_t value);

  // Each gives the entry that stands for a new expression in a vector of sizes.
  int64_t expr(schema::DimOp op, int64_t a, int64_t b = 0);
  // One with a range.
  int64_t ranged(schema::DimOp op, int64_t a, int64_t b, int64_t min, int64_t max, int64_t planned);

  std::vector<uint8_t> build() const;
};

// Attributes of each kind, written as in the schema.
AttributesDef compare(schema::CompareKind kind);
AttributesDef where();
AttributesDef cast(DType dtype);
AttributesDef quantize(DType dtype, int32_t min, int32_t max);
AttributesDef dequantize();
AttributesDef choose_qparams(schema::QParamsKind kind, uint8_t axes, int32_t min, int32_t max);
AttributesDef quantized_linear(uint8_t bits, bool dynamic_quantization);
AttributesDef iota(int64_t size);
AttributesDef nonzero(int64_t size);
AttributesDef repeat_indices(int64_t size);
AttributesDef non_max_suppression(double threshold, int64_t size);
AttributesDef size_value(int64_t size);
AttributesDef index(uint8_t axis);
AttributesDef gather(uint8_t axis);
AttributesDef index_put(uint8_t axis, schema::UpdateKind kind = schema::UpdateKind::Assign);
AttributesDef scatter(uint8_t axis, schema::UpdateKind kind = schema::UpdateKind::Assign);
AttributesDef slice_scatter(std::vector<int64_t> start, std::vector<uint32_t> step);
AttributesDef masked_scatter();
AttributesDef embedding_bag(schema::BagKind kind);
AttributesDef resize2d(schema::ResizeKind kind, std::vector<int64_t> shape);
AttributesDef unary(schema::UnaryKind kind, float alpha = 1);
AttributesDef clamp(float min, float max);
AttributesDef binary(schema::BinaryKind kind);
AttributesDef linear(std::optional<schema::Clamp> clamp = std::nullopt);
AttributesDef batch_matmul(bool transpose_b = false);
AttributesDef conv2d(
    schema::Size2D stride = {1, 1},
    schema::Padding2D padding = {},
    schema::Size2D dilation = {1, 1},
    uint32_t groups = 1);
AttributesDef conv_transpose2d(
    schema::Size2D stride = {1, 1},
    schema::Padding2D padding = {},
    schema::Size2D output_padding = {},
    schema::Size2D dilation = {1, 1},
    uint32_t groups = 1);
AttributesDef avg_pool2d(schema::Size2D kernel, schema::Size2D stride, schema::Padding2D padding = {});
AttributesDef max_pool2d(schema::Size2D kernel, schema::Size2D stride, schema::Padding2D padding = {});
AttributesDef adaptive_pool2d(schema::AdaptivePoolKind kind, schema::Size2D output);
AttributesDef reduce(schema::ReduceKind kind, std::vector<uint8_t> axes, bool keep_dims = false);
AttributesDef arg_reduce(schema::ArgReduceKind kind, uint8_t axis);
AttributesDef scan(schema::ScanKind kind, uint8_t axis);
AttributesDef sort(uint8_t axis, bool descending = false, uint32_t count = 0);
AttributesDef softmax(uint8_t axis);
AttributesDef layer_norm(uint8_t axes = 1, float epsilon = 1e-5f);
AttributesDef rms_norm(uint8_t axes = 1, float epsilon = 1e-5f);
AttributesDef group_norm(uint8_t axis, uint32_t groups, float epsilon = 1e-5f);
AttributesDef max_pool_indices(std::vector<uint32_t> kernel, std::vector<uint32_t> stride);
AttributesDef grid_sample(
    schema::SampleKind kind, schema::GridPaddingMode padding_mode = schema::GridPaddingMode::Zeros);
AttributesDef recurrent(schema::RecurrentKind kind, bool reverse = false);
AttributesDef fft(schema::FftKind kind, uint8_t axis, int64_t length = 0, bool full = false);
AttributesDef attention(float scale, bool causal = false, int64_t start = 0, bool by_token = false);
AttributesDef rotary_embedding(bool pairs = false);
AttributesDef reshape(std::vector<int64_t> shape);
AttributesDef transpose(std::vector<uint8_t> perm);
AttributesDef expand(std::vector<int64_t> shape);
AttributesDef concat(uint8_t axis);
AttributesDef slice(uint8_t axis, int64_t start, int64_t size, uint32_t step = 1);
AttributesDef pad(
    std::vector<uint32_t> before,
    std::vector<uint32_t> after,
    float value = 0,
    schema::PadMode mode = schema::PadMode::Constant);

template <typename Table>
constexpr schema::Attributes type_of(const flatbuffers::Offset<Table>*) {
  return schema::AttributesTraits<Table>::enum_value;
}

// Attributes of any kind from a function that takes a FlatBufferBuilder.
template <typename Make>
AttributesDef attributes(Make make) {
  using Offset = decltype(make(std::declval<flatbuffers::FlatBufferBuilder&>()));
  constexpr const Offset* kNoOffset = nullptr;
  return {type_of(kNoOffset), [make](flatbuffers::FlatBufferBuilder& builder) { return make(builder).Union(); }};
}

Span<const uint8_t> span(const std::vector<uint8_t>& bytes);

// Small numbers of both signs, other ones for another seed.
std::vector<float> some_numbers(size_t count, uint32_t seed = 1);

} // namespace executorch::backends::et_xnnpack::testing
