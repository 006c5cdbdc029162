// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BagKind;
using schema::UpdateKind;

IndexTensor index_tensor(const NodeContext& node, size_t i) {
  return {node.input(i).shape, node.input(i).dtype};
}

// Inputs from `first` on.
std::vector<IndexTensor> index_tensors(const NodeContext& node, size_t first) {
  std::vector<IndexTensor> indices;
  for (size_t i = first; i < node.num_inputs(); ++i) {
    indices.push_back(index_tensor(node, i));
  }
  return indices;
}

BagReduction reduction_of(BagKind kind) {
  switch (kind) {
    case BagKind::Sum:
      return BagReduction::Sum;
    case BagKind::Mean:
      return BagReduction::Mean;
    case BagKind::Max:
      break;
  }
  return BagReduction::Max;
}

UpdateFunction function_of(UpdateKind kind) {
  switch (kind) {
    case UpdateKind::Assign:
      return UpdateFunction::Assign;
    case UpdateKind::Add:
      return UpdateFunction::Add;
    case UpdateKind::Multiply:
      return UpdateFunction::Multiply;
    case UpdateKind::Minimum:
      return UpdateFunction::Minimum;
    case UpdateKind::Maximum:
      break;
  }
  return UpdateFunction::Maximum;
}

} // namespace

IndexedCopyParameters index_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Index>();
  return {
      node.input(0).shape,
      index_tensors(node, 1),
      attributes.axis(),
      attributes.wrap(),
      element_size(node.output().dtype)};
}

GatherParameters gather_parameters(const NodeContext& node) {
  const size_t axis = node.attributes<schema::Gather>().axis();
  return {node.input(0).shape, index_tensor(node, 1), axis, element_size(node.output().dtype)};
}

EmbeddingBagParameters embedding_bag_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::EmbeddingBag>();
  EmbeddingBagParameters parameters;
  parameters.reduction = reduction_of(attributes.kind());
  parameters.padding_index = attributes.padding_idx();
  parameters.rows = node.input(0).shape[0];
  parameters.columns = node.input(0).shape[1];
  parameters.indices = node.input(1).shape[0];
  parameters.offsets = node.input(2).shape[0];
  parameters.bags = node.output().shape[0];
  parameters.index_dtype = node.input(1).dtype;
  parameters.offset_dtype = node.input(2).dtype;
  return parameters;
}

IndexPutParameters index_put_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::IndexPut>();
  return {
      function_of(attributes.kind()),
      node.output().dtype,
      node.input(0).shape,
      index_tensors(node, 2),
      attributes.axis(),
      attributes.wrap()};
}

ScatterParameters scatter_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Scatter>();
  return {
      function_of(attributes.kind()),
      node.output().dtype,
      node.input(0).shape,
      index_tensor(node, 2),
      attributes.axis()};
}

SliceScatterParameters slice_scatter_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::SliceScatter>();
  SliceScatterParameters parameters;
  parameters.x = node.input(0).shape;
  parameters.values = node.input(1).shape;
  for (uint32_t axis = 0; axis < parameters.x.rank; ++axis) {
    parameters.start[axis] = static_cast<size_t>(node.sizes().resolve(attributes.start()->Get(axis)));
    parameters.step[axis] = attributes.step()->Get(axis);
  }
  parameters.element_size = element_size(node.output().dtype);
  return parameters;
}

MaskedScatterParameters masked_scatter_parameters(const NodeContext& node) {
  return {node.output().shape.numel(), node.input(2).shape.numel(), element_size(node.output().dtype)};
}

Shape nonzero_shape(const NodeContext& node) {
  return node.input(0).shape;
}

RepeatIndicesParameters repeat_indices_parameters(const NodeContext& node) {
  return {node.input(0).shape.numel(), node.input(0).dtype};
}

NonMaxSuppressionParameters non_max_suppression_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::NonMaxSuppression>();
  return {node.input(1).shape.numel(), attributes.threshold(), node.input(1).dtype};
}

} // namespace executorch::backends::et_xnnpack
