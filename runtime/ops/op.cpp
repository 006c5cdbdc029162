// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "op.h"

namespace executorch::backends::et_xnnpack {

const OpImpl& op_impl(schema::Attributes type) {
  // No default: an operator of the schema that is missing here does not compile.
  switch (type) {
    case schema::Attributes::Unary:
      return kUnaryOp;
    case schema::Attributes::Binary:
      return kBinaryOp;
    case schema::Attributes::Linear:
      return kLinearOp;
    case schema::Attributes::BatchMatMul:
      return kBatchMatMulOp;
    case schema::Attributes::Conv2d:
      return kConv2dOp;
    case schema::Attributes::ConvTranspose2d:
      return kConvTranspose2dOp;
    case schema::Attributes::AvgPool2d:
      return kAvgPool2dOp;
    case schema::Attributes::MaxPool2d:
      return kMaxPool2dOp;
    case schema::Attributes::AdaptivePool2d:
      return kAdaptivePool2dOp;
    case schema::Attributes::Reduce:
      return kReduceOp;
    case schema::Attributes::ArgReduce:
      return kArgReduceOp;
    case schema::Attributes::Scan:
      return kScanOp;
    case schema::Attributes::Sort:
      return kSortOp;
    case schema::Attributes::Softmax:
      return kSoftmaxOp;
    case schema::Attributes::LayerNorm:
      return kLayerNormOp;
    case schema::Attributes::Attention:
      return kAttentionOp;
    case schema::Attributes::Reshape:
      return kReshapeOp;
    case schema::Attributes::Transpose:
      return kTransposeOp;
    case schema::Attributes::Expand:
      return kExpandOp;
    case schema::Attributes::Concat:
      return kConcatOp;
    case schema::Attributes::Slice:
      return kSliceOp;
    case schema::Attributes::Pad:
      return kPadOp;
    case schema::Attributes::Compare:
      return kCompareOp;
    case schema::Attributes::Where:
      return kWhereOp;
    case schema::Attributes::Cast:
      return kCastOp;
    case schema::Attributes::Iota:
      return kIotaOp;
    case schema::Attributes::SizeValue:
      return kSizeValueOp;
    case schema::Attributes::Index:
      return kIndexOp;
    case schema::Attributes::Gather:
      return kGatherOp;
    case schema::Attributes::Resize2d:
      return kResize2dOp;
    case schema::Attributes::IndexPut:
      return kIndexPutOp;
    case schema::Attributes::Scatter:
      return kScatterOp;
    case schema::Attributes::SliceScatter:
      return kSliceScatterOp;
    case schema::Attributes::MaskedScatter:
      return kMaskedScatterOp;
    case schema::Attributes::EmbeddingBag:
      return kEmbeddingBagOp;
    case schema::Attributes::RmsNorm:
      return kRmsNormOp;
    case schema::Attributes::GroupNorm:
      return kGroupNormOp;
    case schema::Attributes::MaxPoolIndices:
      return kMaxPoolIndicesOp;
    case schema::Attributes::GridSample:
      return kGridSampleOp;
    case schema::Attributes::Recurrent:
      return kRecurrentOp;
    case schema::Attributes::Quantize:
      return kQuantizeOp;
    case schema::Attributes::Dequantize:
      return kDequantizeOp;
    case schema::Attributes::RotaryEmbedding:
      return kRotaryEmbeddingOp;
    case schema::Attributes::ChooseQParams:
      return kChooseQParamsOp;
    case schema::Attributes::QuantizedLinear:
      return kQuantizedLinearOp;
    case schema::Attributes::NONE:
      break;
  }
  static const OpImpl kNone{};
  return kNone; // Blob::open lets no other value through.
}

Status NodeContext::check_operands(size_t required, size_t optional, size_t num_outputs) const {
  ETX_CHECK(
      inputs_.size() >= required && inputs_.size() <= required + optional,
      InvalidProgram,
      "it has %zu inputs, but the operator takes %zu to %zu",
      inputs_.size(),
      required,
      required + optional);
  for (size_t i = 0; i < required; ++i) {
    ETX_CHECK(has_input(i), InvalidProgram, "input %zu is absent", i);
  }
  ETX_CHECK(
      this->num_outputs() == num_outputs,
      InvalidProgram,
      "it has %zu outputs, but the operator makes %zu",
      this->num_outputs(),
      num_outputs);
  return {};
}

bool NodeContext::is_quantized() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (has_input(i) && input(i).quantization != nullptr) {
      return true;
    }
  }
  for (const TensorType& type : outputs_) {
    if (type.quantization != nullptr) {
      return true;
    }
  }
  return false;
}

Status check_quantized(const OpImpl& op, const NodeContext& node) {
  ETX_CHECK(
      !node.is_quantized() || (op.takes_quantized && node.num_outputs() == 1),
      InvalidProgram,
      "the operator takes no quantized operands");
  return {};
}

Status NodeContext::check_float() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ETX_CHECK(
        !has_input(i) || input(i).dtype == DType::Float32,
        InvalidProgram,
        "input %zu is %s, but must be Float32",
        i,
        input(i).to_string().c_str());
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
