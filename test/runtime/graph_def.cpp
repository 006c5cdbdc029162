// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "graph_def.h"

#include <cstring>

namespace executorch::backends::et_xnnpack::testing {

using flatbuffers::FlatBufferBuilder;

namespace {

std::vector<uint8_t> bytes_of(const std::vector<float>& data) {
  std::vector<uint8_t> bytes(data.size() * sizeof(float));
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), data.data(), bytes.size());
  }
  return bytes;
}

// With zero bytes, if it has any.
flatbuffers::Offset<flatbuffers::String> text(FlatBufferBuilder& builder, const std::optional<std::string>& def) {
  return def ? builder.CreateString(*def) : 0;
}

flatbuffers::Offset<schema::Constant> create_constant(
    FlatBufferBuilder& builder, const std::optional<ConstantDef>& def) {
  if (!def) {
    return {};
  }
  const auto key = text(builder, def->key);
  return schema::CreateConstant(builder, key, def->data ? builder.CreateVector(*def->data) : 0, def->storage);
}

} // namespace

uint32_t GraphDef::value(const std::vector<int64_t>& dims, DType dtype) {
  values.push_back({dtype, dims, std::nullopt});
  return static_cast<uint32_t>(values.size() - 1);
}

uint32_t GraphDef::input(const std::vector<int64_t>& dims, DType dtype) {
  const uint32_t id = value(dims, dtype);
  inputs.push_back({id, {}});
  return id;
}

uint32_t GraphDef::constant(const std::vector<int64_t>& dims, const std::vector<float>& data) {
  const uint32_t id = value(dims);
  values[id].constant = ConstantDef{std::nullopt, bytes_of(data)};
  return id;
}

uint32_t GraphDef::state(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& initial) {
  const uint32_t id = value(dims);
  states.push_back({name, id, kNone, ConstantDef{std::nullopt, bytes_of(initial)}});
  return id;
}

uint32_t GraphDef::quantized(uint32_t id, float scale, int32_t zero_point, DType dtype) {
  values[id].dtype = dtype;
  values[id].quantization = QuantizationDef{{scale}, {zero_point}, 0};
  return id;
}

uint32_t GraphDef::integers(const std::vector<int64_t>& dims, QuantizationDef quantization, DType dtype) {
  const uint32_t id = value(dims, dtype);
  size_t bytes = element_size(dtype);
  for (const int64_t dim : dims) {
    bytes *= static_cast<size_t>(dim);
  }
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes && dtype == DType::Int8; ++i) {
    data[i] = static_cast<uint8_t>(i * 37 % 255);
  }
  values[id].constant = ConstantDef{std::nullopt, std::move(data)};
  values[id].quantization = std::move(quantization);
  return id;
}

uint32_t GraphDef::named(const std::vector<int64_t>& dims, const std::string& key, DType dtype) {
  const uint32_t id = value(dims, dtype);
  values[id].constant = ConstantDef{key, std::nullopt};
  return id;
}

uint32_t GraphDef::node(
    AttributesDef attributes_def, std::vector<uint32_t> operands, const std::vector<int64_t>& dims, DType dtype) {
  const uint32_t id = value(dims, dtype);
  nodes.push_back({std::move(attributes_def), std::move(operands), {id}, 0});
  return id;
}

uint32_t GraphDef::also(const std::vector<int64_t>& dims, DType dtype) {
  const uint32_t id = value(dims, dtype);
  nodes.back().outputs.push_back(id);
  return id;
}

void GraphDef::output(uint32_t value_id) {
  outputs.push_back({value_id, {}});
}

int64_t bits_of(double factor) {
  int64_t bits = 0;
  std::memcpy(&bits, &factor, sizeof(bits));
  return bits;
}

int64_t GraphDef::expr(schema::DimOp op, int64_t a, int64_t b) {
  exprs.emplace_back(op, a, b);
  return -static_cast<int64_t>(exprs.size());
}

int64_t GraphDef::ranged(schema::DimOp op, int64_t a, int64_t b, int64_t min, int64_t max, int64_t planned) {
  const int64_t entry = expr(op, a, b);
  ranges.emplace_back(static_cast<uint32_t>(-1 - entry), min, max, planned);
  return entry;
}

std::vector<uint8_t> GraphDef::build() const {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schema::Value>> value_offsets;
  for (const ValueDef& def : values) {
    const auto constant_offset = create_constant(builder, def.constant);
    flatbuffers::Offset<schema::Quantization> quantization;
    if (def.quantization) {
      const QuantizationDef& q = *def.quantization;
      quantization = schema::CreateQuantizationDirect(
          builder, q.scale.empty() ? nullptr : &q.scale, q.zero_point.empty() ? nullptr : &q.zero_point, q.axis);
    }
    const std::vector<schema::Size> dims = sizes_of(def.dims);
    value_offsets.push_back(schema::CreateValueDirect(
        builder,
        to_schema(def.dtype),
        &dims,
        constant_offset,
        quantization,
        def.result_order.has_value() ? &*def.result_order : nullptr));
  }
  std::vector<flatbuffers::Offset<schema::Node>> node_offsets;
  for (const NodeDef& def : nodes) {
    flatbuffers::Offset<void> attributes_offset;
    if (def.attributes.make) {
      attributes_offset = def.attributes.make(builder);
    }
    node_offsets.push_back(schema::CreateNodeDirect(
        builder, def.attributes.type, attributes_offset, &def.inputs, &def.outputs, def.debug_handle));
  }
  const auto order = [](const ArgumentDef& def) { return def.dim_order.empty() ? nullptr : &def.dim_order; };
  std::vector<flatbuffers::Offset<schema::Input>> input_offsets;
  for (const ArgumentDef& def : inputs) {
    input_offsets.push_back(schema::CreateInputDirect(builder, def.value, order(def)));
  }
  std::vector<flatbuffers::Offset<schema::Output>> output_offsets;
  for (const ArgumentDef& def : outputs) {
    output_offsets.push_back(schema::CreateOutputDirect(builder, def.value, order(def)));
  }
  std::vector<flatbuffers::Offset<schema::State>> state_offsets;
  for (const StateDef& def : states) {
    const auto initial = create_constant(builder, def.initial);
    state_offsets.push_back(schema::CreateState(builder, text(builder, def.name), def.value, def.update, initial));
  }
  builder.Finish(
      schema::CreateGraphDirect(
          builder,
          required_features,
          &exprs,
          &ranges,
          &value_offsets,
          &node_offsets,
          &input_offsets,
          &output_offsets,
          states.empty() ? nullptr : &state_offsets),
      identifier.c_str());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

AttributesDef unary(schema::UnaryKind kind, float alpha) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateUnary(b, kind, alpha); });
}

AttributesDef clamp(float min, float max) {
  return attributes([=](FlatBufferBuilder& b) {
    const schema::Clamp range(min, max);
    return schema::CreateUnary(b, schema::UnaryKind::Clamp, 1, &range);
  });
}

AttributesDef binary(schema::BinaryKind kind) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateBinary(b, kind); });
}

AttributesDef linear(std::optional<schema::Clamp> clamp) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateLinear(b, clamp ? &*clamp : nullptr); });
}

AttributesDef batch_matmul(bool transpose_b) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateBatchMatMul(b, transpose_b); });
}

AttributesDef conv2d(schema::Size2D stride, schema::Padding2D padding, schema::Size2D dilation, uint32_t groups) {
  return attributes(
      [=](FlatBufferBuilder& b) { return schema::CreateConv2d(b, &stride, &padding, &dilation, groups); });
}

AttributesDef conv_transpose2d(
    schema::Size2D stride,
    schema::Padding2D padding,
    schema::Size2D output_padding,
    schema::Size2D dilation,
    uint32_t groups) {
  return attributes([=](FlatBufferBuilder& b) {
    return schema::CreateConvTranspose2d(b, &stride, &padding, &output_padding, &dilation, groups);
  });
}

AttributesDef avg_pool2d(schema::Size2D kernel, schema::Size2D stride, schema::Padding2D padding) {
  return attributes([=](FlatBufferBuilder& b) {
    const schema::Padding2D counted;
    return schema::CreateAvgPool2d(b, &kernel, &stride, &padding, &counted);
  });
}

AttributesDef max_pool2d(schema::Size2D kernel, schema::Size2D stride, schema::Padding2D padding) {
  return attributes([=](FlatBufferBuilder& b) {
    const schema::Size2D dilation(1, 1);
    return schema::CreateMaxPool2d(b, &kernel, &stride, &padding, &dilation);
  });
}

AttributesDef adaptive_pool2d(schema::AdaptivePoolKind kind, schema::Size2D output) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateAdaptivePool2d(b, kind, &output); });
}

AttributesDef reduce(schema::ReduceKind kind, std::vector<uint8_t> axes, bool keep_dims) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateReduceDirect(b, kind, &axes, keep_dims); });
}

AttributesDef arg_reduce(schema::ArgReduceKind kind, uint8_t axis) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateArgReduce(b, kind, axis); });
}

AttributesDef scan(schema::ScanKind kind, uint8_t axis) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateScan(b, kind, axis); });
}

AttributesDef sort(uint8_t axis, bool descending, uint32_t count) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateSort(b, axis, descending, count); });
}

AttributesDef softmax(uint8_t axis) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateSoftmax(b, axis); });
}

AttributesDef layer_norm(uint8_t axes, float epsilon) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateLayerNorm(b, axes, epsilon); });
}

AttributesDef rms_norm(uint8_t axes, float epsilon) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateRmsNorm(b, axes, epsilon); });
}

AttributesDef group_norm(uint8_t axis, uint32_t groups, float epsilon) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateGroupNorm(b, axis, groups, epsilon); });
}

AttributesDef max_pool_indices(std::vector<uint32_t> kernel, std::vector<uint32_t> stride) {
  return attributes([=](FlatBufferBuilder& b) {
    const std::vector<uint32_t> zeros(3, 0), ones(3, 1);
    return schema::CreateMaxPoolIndicesDirect(b, &kernel, &stride, &zeros, &zeros, &ones);
  });
}

AttributesDef grid_sample(schema::SampleKind kind, schema::GridPaddingMode padding_mode) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateGridSample(b, kind, padding_mode); });
}

AttributesDef recurrent(schema::RecurrentKind kind, bool reverse) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateRecurrent(b, kind, reverse); });
}

AttributesDef fft(schema::FftKind kind, uint8_t axis, int64_t length, bool full) {
  return attributes([=](FlatBufferBuilder& b) {
    const schema::Size size(length);
    return schema::CreateFft(b, kind, axis, schema::FftNorm::Length, full, &size);
  });
}

AttributesDef attention(float scale, bool causal, int64_t start, bool by_token) {
  return attributes([=](FlatBufferBuilder& b) {
    const schema::Size first(start);
    return schema::CreateAttention(b, scale, causal, &first, by_token);
  });
}

AttributesDef rotary_embedding(bool pairs) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateRotaryEmbedding(b, pairs); });
}

AttributesDef reshape(std::vector<int64_t> shape) {
  return attributes([sizes = sizes_of(shape)](FlatBufferBuilder& b) { return schema::CreateReshapeDirect(b, &sizes); });
}

AttributesDef transpose(std::vector<uint8_t> perm) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateTransposeDirect(b, &perm); });
}

AttributesDef expand(std::vector<int64_t> shape) {
  return attributes([sizes = sizes_of(shape)](FlatBufferBuilder& b) { return schema::CreateExpandDirect(b, &sizes); });
}

AttributesDef compare(schema::CompareKind kind) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateCompare(b, kind); });
}

AttributesDef where() {
  return attributes([](FlatBufferBuilder& b) { return schema::CreateWhere(b); });
}

AttributesDef cast(DType dtype) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateCast(b, to_schema(dtype)); });
}

AttributesDef quantize(DType dtype, int32_t min, int32_t max) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateQuantize(b, to_schema(dtype), min, max); });
}
AttributesDef choose_qparams(schema::QParamsKind kind, uint8_t axes, int32_t min, int32_t max) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateChooseQParams(b, kind, axes, min, max, 1e-6f); });
}
AttributesDef quantized_linear(uint8_t bits, bool dynamic_quantization) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateQuantizedLinear(b, bits, dynamic_quantization); });
}
AttributesDef dequantize() {
  return attributes([](FlatBufferBuilder& b) { return schema::CreateDequantize(b); });
}
AttributesDef iota(int64_t size) {
  return attributes([size = schema::Size(size)](FlatBufferBuilder& b) { return schema::CreateIota(b, &size); });
}

AttributesDef nonzero(int64_t size) {
  return attributes([size = schema::Size(size)](FlatBufferBuilder& b) { return schema::CreateNonzero(b, &size); });
}
AttributesDef repeat_indices(int64_t size) {
  return attributes(
      [size = schema::Size(size)](FlatBufferBuilder& b) { return schema::CreateRepeatIndices(b, &size); });
}
AttributesDef non_max_suppression(double threshold, int64_t size) {
  return attributes([threshold, size = schema::Size(size)](FlatBufferBuilder& b) {
    return schema::CreateNonMaxSuppression(b, threshold, &size);
  });
}

AttributesDef size_value(int64_t size) {
  return attributes([size = schema::Size(size)](FlatBufferBuilder& b) { return schema::CreateSizeValue(b, &size); });
}

AttributesDef index(uint8_t axis) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateIndex(b, axis); });
}

AttributesDef gather(uint8_t axis) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateGather(b, axis); });
}

AttributesDef index_put(uint8_t axis, schema::UpdateKind kind) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateIndexPut(b, axis, kind); });
}

AttributesDef scatter(uint8_t axis, schema::UpdateKind kind) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateScatter(b, axis, kind); });
}

AttributesDef slice_scatter(std::vector<int64_t> start, std::vector<uint32_t> step) {
  return attributes([starts = sizes_of(start), step](FlatBufferBuilder& b) {
    return schema::CreateSliceScatterDirect(b, &starts, &step);
  });
}

AttributesDef masked_scatter() {
  return attributes([](FlatBufferBuilder& b) { return schema::CreateMaskedScatter(b); });
}

AttributesDef embedding_bag(schema::BagKind kind) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateEmbeddingBag(b, kind); });
}

AttributesDef resize2d(schema::ResizeKind kind, std::vector<int64_t> shape) {
  return attributes(
      [kind, sizes = sizes_of(shape)](FlatBufferBuilder& b) { return schema::CreateResize2dDirect(b, kind, &sizes); });
}

AttributesDef concat(uint8_t axis) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreateConcat(b, axis); });
}

AttributesDef slice(uint8_t axis, int64_t start, int64_t size, uint32_t step) {
  return attributes([axis, from = schema::Size(start), count = schema::Size(size), step](FlatBufferBuilder& b) {
    return schema::CreateSlice(b, axis, &from, &count, step);
  });
}

AttributesDef pad(std::vector<uint32_t> before, std::vector<uint32_t> after, float value, schema::PadMode mode) {
  return attributes([=](FlatBufferBuilder& b) { return schema::CreatePadDirect(b, &before, &after, value, mode); });
}

Span<const uint8_t> span(const std::vector<uint8_t>& bytes) {
  return {bytes.data(), bytes.size()};
}

std::vector<float> some_numbers(size_t count, uint32_t seed) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525 + 1013904223;
    number = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return numbers;
}

} // namespace executorch::backends::et_xnnpack::testing
