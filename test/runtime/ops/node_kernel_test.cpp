// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// A kernel of a node.
class NodeKernel final : public TestedKernel {
 public:
  explicit NodeKernel(const KernelCase& kernel_case)
      : outputs_(kernel_case.more_outputs.begin(), kernel_case.more_outputs.end()) {
    const Attributes attributes = kernel_case.attributes(builder_);
    const auto outputs_of_node = builder_.CreateVector(std::vector<uint32_t>(1 + kernel_case.more_outputs.size()));
    builder_.Finish(schema::CreateNode(builder_, kernel_case.type, attributes, 0, outputs_of_node));
    for (const auto& input : kernel_case.inputs) {
      inputs_.push_back(input ? &input->type : nullptr);
    }
    constant_.reset(new bool[inputs_.size()]());
    for (const size_t i : kernel_case.constants) {
      constant_[i] = true;
    }
    outputs_.insert(outputs_.begin(), kernel_case.output);
    kernel_ = kernel_case.make(node());
    EXPECT_NE(kernel_, nullptr);
  }

  std::optional<size_t> packed_bytes(size_t i) const override {
    return kernel_->packed_layout(node(), i).has_value() ? std::optional(kernel_->packed_bytes(node(), i))
                                                         : std::nullopt;
  }
  Status pack(size_t i, const void* original, void* packed) const override {
    return kernel_->pack(node(), i, original, packed);
  }
  DType packed_from(size_t i) const override {
    return kernel_->packed_from(node(), i);
  }
  StatusOr<size_t> reshape(size_t num_threads) override {
    return kernel_->reshape(node(), num_threads);
  }
  void run(const KernelArguments& arguments) override {
    kernel_->run(arguments);
  }

 private:
  NodeContext node() const {
    return NodeContext(
        *flatbuffers::GetRoot<schema::Node>(builder_.GetBufferPointer()),
        {inputs_.data(), inputs_.size()},
        {constant_.get(), inputs_.size()},
        {outputs_.data(), outputs_.size()},
        sizes_);
  }

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<const TensorType*> inputs_; // of the case
  std::unique_ptr<bool[]> constant_;
  std::vector<TensorType> outputs_;
  const Sizes sizes_;
  std::unique_ptr<Kernel> kernel_;
};

TensorSpec stored(const TensorType& type) {
  return {type.storage(), type.shape};
}

// Borrows the case.
PlainCase without_node(const KernelCase& kernel_case) {
  std::vector<std::optional<Tensor>> inputs;
  for (const std::optional<NodeTensor>& input : kernel_case.inputs) {
    inputs.push_back(input ? std::optional(input->stored()) : std::nullopt);
  }
  std::vector<TensorSpec> outputs{stored(kernel_case.output)};
  for (const TensorType& output : kernel_case.more_outputs) {
    outputs.push_back(stored(output));
  }
  return {
      [&kernel_case] { return std::make_unique<NodeKernel>(kernel_case); },
      inputs,
      outputs,
      kernel_case.checked,
      kernel_case.constants};
}

} // namespace

Tensor NodeTensor::stored() const {
  Tensor tensor(type.storage(), type.shape);
  tensor.bytes = bytes;
  return tensor;
}

MakeKernel chosen(const OpImpl& op) {
  return [&op](const NodeContext& node) {
    ChoiceOptions options;
    options.xnnpack = false;
    return op.choose(node, Cpu::get(), options).make(node);
  };
}

void check_kernel(const KernelCase& kernel_case, const Tensor& expected, Tolerance tolerance, Isas isas) {
  check_kernel(without_node(kernel_case), expected, tolerance, isas);
}
void check_kernel(const KernelCase& kernel_case, const NodeTensor& expected, Tolerance tolerance) {
  check_kernel(kernel_case, expected.stored(), tolerance);
}

Tensor run_kernel(const KernelCase& kernel_case, size_t threads) {
  return run_kernel(without_node(kernel_case), threads);
}

Status try_kernel(const KernelCase& kernel_case) {
  return try_kernel(without_node(kernel_case));
}

} // namespace executorch::backends::et_xnnpack::testing
