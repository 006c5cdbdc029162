// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Runs the kernel of a node in every way in which kernels/common/kernel_test.h runs a kernel.

#include <functional>
#include <optional>
#include <vector>

#include <runtime/ops/op.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

// A tensor of a node, which may be quantized.
struct NodeTensor : TypedTensor<TensorType> {
  NodeTensor() = default;
  NodeTensor(const Tensor& tensor) : TypedTensor{{tensor.type.dtype, tensor.type.shape}, tensor.bytes} {}

  // What a kernel of its integers knows of it.
  Tensor stored() const;
};

struct NodeTensorType : TensorType {
  NodeTensorType(const TensorType& type) : TensorType(type) {}
  NodeTensorType(const TensorSpec& spec) : NodeTensorType(spec.dtype, spec.shape) {}
  NodeTensorType(DType element, const Shape& sizes) {
    dtype = element;
    shape = sizes;
  }
};

using Attributes = flatbuffers::Offset<void>;

// The kernel of ours that an op chooses for a node.
MakeKernel chosen(const OpImpl& op);

struct KernelCase {
  MakeKernel make;
  schema::Attributes type;
  std::function<Attributes(flatbuffers::FlatBufferBuilder&)> attributes;
  std::vector<std::optional<NodeTensor>> inputs;
  NodeTensorType output;
  std::vector<NodeTensorType> more_outputs = {};
  size_t checked = 0; // the output to compare
  std::vector<size_t> constants = {}; // inputs that are
};

void check_kernel(
    const KernelCase& kernel_case, const Tensor& expected, Tolerance tolerance = {}, Isas isas = Isas::Vectors);
void check_kernel(const KernelCase& kernel_case, const NodeTensor& expected, Tolerance tolerance = {});
Tensor run_kernel(const KernelCase& kernel_case, size_t threads = 0);
Status try_kernel(const KernelCase& kernel_case);

} // namespace executorch::backends::et_xnnpack::testing
