// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "subgraph_builder.h"

#include "runtime/kernels/simd/half.h"

#include <cinttypes>
#include <cstring>

namespace executorch::backends::et_xnnpack {
namespace {

constexpr uint32_t kAbsent = UINT32_MAX; // kNone of blob.h, too

// REQUIRES: the type is quantized
StatusOr<xnn_datatype> quantized_datatype(const TensorType& type, bool by_channel) {
  switch (type.quantized_dtype) {
    case DType::Int8:
      return by_channel ? xnn_datatype_qcint8 : xnn_datatype_qint8;
    case DType::UInt8:
      return xnn_datatype_quint8;
    case DType::Int32:
      return by_channel ? xnn_datatype_qcint32 : xnn_datatype_qint32;
    default:
      return failure(Error::NotSupported, "XNNPACK has no quantized %s", name_of(type.quantized_dtype));
  }
}

StatusOr<xnn_datatype> datatype(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return xnn_datatype_fp32;
    case DType::Int32:
      return xnn_datatype_int32;
    case DType::Int64:
    case DType::Bool:
    case DType::Int8:
    case DType::UInt8:
    case DType::Float16:
    case DType::BFloat16:
      break;
  }
  return failure(Error::NotSupported, "XNNPACK has no %s", name_of(dtype));
}

} // namespace

SubgraphBuilder::SubgraphBuilder(SubgraphPtr subgraph, Span<const TensorType> types, ConstantSource& constants)
    : subgraph_(std::move(subgraph)),
      types_(types),
      constants_(constants),
      scalars_(std::make_shared<std::deque<Buffer>>()) {}

StatusOr<std::unique_ptr<SubgraphBuilder>> SubgraphBuilder::create(
    Span<const uint32_t> externals,
    Span<const bool> external_is_input,
    Span<const TensorType> types,
    ConstantSource& constants) {
  xnn_subgraph_t raw = nullptr;
  ETX_RETURN_IF_ERROR(
      check_xnn(xnn_create_subgraph(static_cast<uint32_t>(externals.size()), 0, &raw), "xnn_create_subgraph"));
  SubgraphPtr subgraph(raw);
  std::unique_ptr<SubgraphBuilder> builder(new SubgraphBuilder(std::move(subgraph), types, constants));
  for (size_t i = 0; i < externals.size(); ++i) {
    const uint32_t flags = external_is_input[i] ? XNN_VALUE_FLAG_EXTERNAL_INPUT : XNN_VALUE_FLAG_EXTERNAL_OUTPUT;
    ETX_ASSIGN_OR_RETURN(
        const uint32_t id, builder->define_tensor(types[externals[i]], nullptr, static_cast<uint32_t>(i), flags));
    builder->ids_[externals[i]] = id;
  }
  return builder;
}

Status SubgraphBuilder::add(Define define, const NodeContext& node, bool half) {
  node_ = &node;
  half_ = half;
  Status status = define(node, *this);
  half_ = false;
  ETX_RETURN_IF_ERROR(std::move(status));
  for (uint32_t i = 0; half && i < node.num_outputs(); ++i) {
    const uint32_t value = node.node().outputs()->Get(i);
    if (ids_.count(value) > 0) {
      ETX_RETURN_IF_ERROR(convert(half_ids_[value], ids_[value])); // leaves the segment
    }
  }
  return {};
}

Status SubgraphBuilder::convert(uint32_t from, uint32_t to) {
  return check_xnn(xnn_define_unary(get(), xnn_unary_convert, nullptr, from, to, 0), "xnn_define_unary");
}

StatusOr<float*> SubgraphBuilder::memory(size_t count) {
  const size_t bytes = count * sizeof(float);
  ETX_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(bytes));
  std::memset(buffer.data(), 0, bytes + kTailBytes);
  scalars_->push_back(std::move(buffer));
  return reinterpret_cast<float*>(scalars_->back().data());
}

StatusOr<uint32_t> SubgraphBuilder::define_half_constant(const TensorType& type, const void* data) {
  const size_t count = type.shape.numel();
  ETX_ASSIGN_OR_RETURN(float* const rounded, memory(count / 2 + 1));
  narrow(DType::Float16, static_cast<const float*>(data), rounded, count);
  return define_tensor(type, rounded, XNN_INVALID_VALUE_ID, 0, /*half=*/true);
}

StatusOr<uint32_t> SubgraphBuilder::input(size_t i, Use use) {
  if (!node_->has_input(i)) {
    return uint32_t{XNN_INVALID_VALUE_ID};
  }
  const uint32_t value = this->value(i);
  // What is packed is in Float32: XNNPACK rounds it then.
  const bool half = half_ && use == Use::Kept;
  Ids& ids = half ? half_ids_ : ids_;
  const Ids& others = half ? ids_ : half_ids_;
  const auto known = ids.find(value);
  if (known != ids.end()) {
    return known->second;
  }
  const auto other = others.find(value);
  if (other != others.end() && !node_->is_constant(i)) {
    ETX_ASSIGN_OR_RETURN(const uint32_t id, internal(types_[value]));
    ETX_RETURN_IF_ERROR(convert(other->second, id));
    ids[value] = id;
    return id;
  }
  ETX_ASSIGN_OR_RETURN(const void* data, constants_.constant(value, use));
  ETX_ASSIGN_OR_RETURN(
      const uint32_t id,
      half ? define_half_constant(types_[value], data) : define_tensor(types_[value], data, XNN_INVALID_VALUE_ID, 0));
  if (use == Use::Kept) {
    ids[value] = id;
  } else {
    defer(id, value);
  }
  return id;
}

void SubgraphBuilder::defer(uint32_t id, uint32_t value) {
  deferred_.resize(id, kAbsent);
  deferred_.push_back(value);
}

StatusOr<uint32_t> SubgraphBuilder::quantized_weight(size_t i, size_t scale, unsigned bits, size_t depth) {
  ETX_ASSIGN_OR_RETURN(const void* data, constants_.constant(value(i), Use::Packed));
  ETX_ASSIGN_OR_RETURN(const void* scale_data, constants_.constant(value(scale), Use::Kept));
  const float* const scales = static_cast<const float*>(scale_data);
  const Shape& shape = types_[value(scale)].shape;
  const size_t count = shape.numel();
  const size_t dims[] = {shape[0], depth};
  const int32_t zero_point = bits == 4 ? 8 : 0;
  uint32_t id = kAbsent;
  if (shape[1] == 1) {
    ETX_RETURN_IF_ERROR(check_xnn(
        xnn_define_channelwise_quantized_tensor_value_v2(
            get(),
            bits == 4 ? xnn_datatype_qcint4 : xnn_datatype_qcint8,
            zero_point,
            scales,
            2,
            /*channel_dim=*/0,
            dims,
            data,
            XNN_INVALID_VALUE_ID,
            0,
            &id),
        "xnn_define_channelwise_quantized_tensor_value_v2"));
  } else {
    // XNNPACK takes the scales of groups as BFloat16.
    ETX_ASSIGN_OR_RETURN(float* const rounded, memory(count / 2 + 1));
    narrow(DType::BFloat16, scales, rounded, count);
    ETX_RETURN_IF_ERROR(check_xnn(
        xnn_define_blockwise_quantized_tensor_value(
            get(),
            xnn_datatype_qbint4,
            zero_point,
            reinterpret_cast<const uint16_t*>(rounded),
            2,
            /*channel_dim=*/0,
            /*block_size=*/depth / shape[1],
            dims,
            data,
            XNN_INVALID_VALUE_ID,
            0,
            &id),
        "xnn_define_blockwise_quantized_tensor_value"));
  }
  defer(id, value(i));
  return id;
}

StatusOr<uint32_t> SubgraphBuilder::output(size_t i) {
  const uint32_t value = node_->node().outputs()->Get(static_cast<uint32_t>(i));
  Ids& ids = half_ ? half_ids_ : ids_;
  const auto known = ids.find(value);
  if (known != ids.end()) {
    return known->second; // leaves the segment
  }
  ETX_ASSIGN_OR_RETURN(ids[value], internal(types_[value]));
  return ids[value];
}

StatusOr<uint32_t> SubgraphBuilder::rounded(uint32_t x, const Shape& shape, size_t axes) {
  uint32_t id = XNN_INVALID_VALUE_ID;
  ETX_RETURN_IF_ERROR(check_xnn(
      xnn_define_dynamically_quantized_tensor_value(
          get(), xnn_datatype_qdint8, shape.rank, axes, shape.dims.data(), XNN_INVALID_VALUE_ID, 0, &id),
      "xnn_define_dynamically_quantized_tensor_value"));
  ETX_RETURN_IF_ERROR(check_xnn(xnn_define_unary(get(), xnn_unary_convert, nullptr, x, id, 0), "xnn_define_unary"));
  return id;
}

StatusOr<uint32_t> SubgraphBuilder::internal(const TensorType& type) {
  return define_tensor(type, nullptr, XNN_INVALID_VALUE_ID, 0, half_);
}

StatusOr<uint32_t> SubgraphBuilder::scalar(float value) {
  if (half_) {
    return define_half_constant({DType::Float32, {}}, &value);
  }
  ETX_ASSIGN_OR_RETURN(float* const data, memory(1));
  data[0] = value;
  return define_tensor({DType::Float32, {}}, data, XNN_INVALID_VALUE_ID, 0);
}

Status SubgraphBuilder::define_quantized(
    const TensorType& type, const void* data, uint32_t external_id, uint32_t flags, uint32_t* id) {
  const schema::Quantization& quantization = *type.quantization;
  const bool by_channel = quantization.scale()->size() > 1;
  ETX_ASSIGN_OR_RETURN(const xnn_datatype dtype, quantized_datatype(type, by_channel));
  const int32_t zero_point = quantization.zero_point()->Get(0);
  if (!by_channel) {
    return check_xnn(
        xnn_define_quantized_tensor_value(
            get(),
            dtype,
            zero_point,
            quantization.scale()->Get(0),
            type.shape.rank,
            type.shape.dims.data(),
            data,
            external_id,
            flags,
            id),
        "xnn_define_quantized_tensor_value");
  }
  // The scales stay in the blob, which outlives the runtime.
  return check_xnn(
      xnn_define_channelwise_quantized_tensor_value(
          get(),
          dtype,
          quantization.scale()->data(),
          type.shape.rank,
          quantization.axis(),
          type.shape.dims.data(),
          data,
          external_id,
          flags,
          id),
      "xnn_define_channelwise_quantized_tensor_value");
}

StatusOr<uint32_t> SubgraphBuilder::define_tensor(
    const TensorType& type, const void* data, uint32_t external_id, uint32_t flags, bool half) {
  ETX_CHECK(
      type.shape.rank <= XNN_MAX_TENSOR_DIMS,
      NotSupported,
      "XNNPACK takes rank %d at most, not %s",
      XNN_MAX_TENSOR_DIMS,
      type.to_string().c_str());
  uint32_t id = kAbsent;
  if (type.quantization != nullptr) {
    ETX_RETURN_IF_ERROR(define_quantized(type, data, external_id, flags, &id));
    return id;
  }
  ETX_ASSIGN_OR_RETURN(const xnn_datatype dtype, half ? xnn_datatype_fp16 : datatype(type.dtype));
  ETX_RETURN_IF_ERROR(check_xnn(
      xnn_define_tensor_value(get(), dtype, type.shape.rank, type.shape.dims.data(), data, external_id, flags, &id),
      "xnn_define_tensor_value"));
  return id;
}

} // namespace executorch::backends::et_xnnpack
