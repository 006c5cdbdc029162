// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduce_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

ReduceOp to_reduce_op(schema::ReduceKind kind) {
  switch (kind) {
    case schema::ReduceKind::Sum:
      return ReduceOp::Sum;
    case schema::ReduceKind::Mean:
      return ReduceOp::Mean;
    case schema::ReduceKind::Max:
      return ReduceOp::Max;
    case schema::ReduceKind::Min:
      return ReduceOp::Min;
    case schema::ReduceKind::Prod:
      return ReduceOp::Prod;
    case schema::ReduceKind::Any:
      return ReduceOp::Any;
    case schema::ReduceKind::All:
      break;
  }
  return ReduceOp::All;
}

ArgReduceOp to_arg_reduce_op(schema::ArgReduceKind kind) {
  switch (kind) {
    case schema::ArgReduceKind::Max:
      return ArgReduceOp::Max;
    case schema::ArgReduceKind::Min:
      break;
  }
  return ArgReduceOp::Min;
}

ScanOp to_scan_op(schema::ScanKind kind) {
  switch (kind) {
    case schema::ScanKind::Sum:
      return ScanOp::Sum;
    case schema::ScanKind::Prod:
      break;
  }
  return ScanOp::Prod;
}

} // namespace

ReduceParameters reduce_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Reduce>();
  ReduceParameters parameters{to_reduce_op(attributes.kind()), node.input(0).dtype, node.input(0).shape, {}};
  for (const uint8_t axis : *attributes.axes()) {
    parameters.is_reduced[axis] = true;
  }
  return parameters;
}

ArgReduceParameters arg_reduce_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::ArgReduce>();
  return {to_arg_reduce_op(attributes.kind()), node.input(0).dtype, node.input(0).shape, attributes.axis()};
}

ScanParameters scan_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Scan>();
  return {to_scan_op(attributes.kind()), node.input(0).dtype, node.input(0).shape, attributes.axis()};
}

SortParameters sort_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Sort>();
  return {node.input(0).dtype, node.input(0).shape, attributes.axis(), attributes.descending(), attributes.count()};
}

SoftmaxParameters softmax_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Softmax>();
  return {node.input(0).shape, attributes.axis(), attributes.log()};
}

} // namespace executorch::backends::et_xnnpack
