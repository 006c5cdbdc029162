// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "dequantized.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/memory.h"
#include "runtime/ops/op.h"
#include "runtime/program/quantization.h"
#include "runtime/kernels/quantize/quantize.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 32768; // elements

constexpr size_t kWeight = 1;

// A node as if nothing in it were quantized, or nothing but its weight. Borrows the node and its sizes.
class FloatNode {
 public:
  FloatNode(const NodeContext& node, bool but_weight)
      : types_(node.num_inputs()),
        inputs_(node.num_inputs()),
        constant_(std::make_unique<bool[]>(node.num_inputs())),
        outputs_(node.num_outputs()),
        context_(
            node.node(),
            {inputs_.data(), inputs_.size()},
            {constant_.get(), inputs_.size()},
            {outputs_.data(), outputs_.size()},
            node.sizes()) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (node.has_input(i)) {
        types_[i] = {node.input(i).dtype, node.input(i).shape};
        if (but_weight && i == kWeight) {
          types_[i] = node.input(i);
        }
        inputs_[i] = &types_[i];
        constant_[i] = node.is_constant(i);
      }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i] = {node.output(i).dtype, node.output(i).shape};
    }
  }

  const NodeContext& context() const {
    return context_;
  }

 private:
  std::vector<TensorType> types_;
  std::vector<const TensorType*> inputs_;
  std::unique_ptr<bool[]> constant_;
  std::vector<TensorType> outputs_;
  NodeContext context_;
};

// One operand or result that is quantized.
class Part {
 public:
  Part(size_t index, const TensorType& type, size_t offset)
      : index_(index), offset_(offset), stored_(type.quantized_dtype) {
    const schema::Quantization& quantization = *type.quantization;
    scales_ = quantization.scale()->data();
    zero_points_ = quantization.zero_point()->data();
    channels_ = quantization.scale()->size();
    count_ = type.shape.numel();
    run_ = channels_ == 1 ? count_ : type.shape.numel(quantization.axis() + size_t{1}, type.shape.rank);
  }

  size_t index() const {
    return index_;
  }
  float* memory(void* scratch) const {
    return reinterpret_cast<float*>(static_cast<char*>(scratch) + offset_);
  }
  size_t bytes() const {
    return round_up_to_alignment(count_ * sizeof(float));
  }

  void dequantize(const void* from, float* to, pthreadpool_t pool) const {
    switch (stored_) {
      case DType::Int8:
        return dequantize_as<int8_t>(from, to, pool);
      case DType::UInt8:
        return dequantize_as<uint8_t>(from, to, pool);
      default:
        return dequantize_as<int32_t>(from, to, pool);
    }
  }
  void quantize(const float* from, void* to, pthreadpool_t pool) const {
    if (stored_ == DType::Int8) {
      quantize_as<int8_t>(from, to, pool, {1 / *scales_, static_cast<float>(*zero_points_), INT8_MIN, INT8_MAX});
    } else {
      quantize_as<uint8_t>(from, to, pool, {1 / *scales_, static_cast<float>(*zero_points_), 0, UINT8_MAX});
    }
  }

 private:
  template <typename T>
  void dequantize_as(const void* from, float* to, pthreadpool_t pool) const {
    const DequantizeRow<T> row = dequantize_row<T>();
    const T* const q = static_cast<const T*>(from);
    if (channels_ == 1) {
      const auto zero_point = static_cast<float>(*zero_points_);
      return parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
        row(q + begin, to + begin, end - begin, *scales_, zero_point);
      });
    }
    parallel_for(pool, run_ == 0 ? 0 : count_ / run_, kGrain / (run_ + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t k = i % channels_;
        row(q + i * run_, to + i * run_, run_, scales_[k], static_cast<float>(zero_points_[k]));
      }
    });
  }

  template <typename T>
  void quantize_as(const float* from, void* to, pthreadpool_t pool, const QuantizeParameters& parameters) const {
    const QuantizeRow<T> row = quantize_row<T>();
    parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
      row(from + begin, static_cast<T*>(to) + begin, end - begin, parameters);
    });
  }

  size_t index_, offset_;
  DType stored_;
  const float* scales_; // of the blob, which outlives kernels
  const int32_t* zero_points_;
  size_t channels_, count_, run_;
};

class DequantizedKernel final : public Kernel {
 public:
  DequantizedKernel(std::unique_ptr<Kernel> kernel, bool but_weight)
      : kernel_(std::move(kernel)), but_weight_(but_weight) {}

  // Constants are packed as the kernel would have them, of Float32.
  std::optional<std::string> packed_layout(const NodeContext& node, size_t i) const override {
    const FloatNode in_float32(node, but_weight_);
    std::optional<std::string> layout = kernel_->packed_layout(in_float32.context(), i);
    if (!is_converted(node, i)) {
      return layout;
    }
    const schema::Quantization& quantization = *node.input(i).quantization;
    const size_t count = quantization.scale()->size();
    const uint64_t parts[] = {
        count,
        quantization.axis(),
        hash(quantization.scale()->data(), count * sizeof(float)),
        hash(quantization.zero_point()->data(), count * sizeof(int32_t))};
    return "Float32 " + std::to_string(hash(parts, sizeof(parts))) + " " + layout.value_or("");
  }
  size_t packed_bytes(const NodeContext& node, size_t i) const override {
    const FloatNode in_float32(node, but_weight_);
    return kernel_->packed_layout(in_float32.context(), i).has_value() ? kernel_->packed_bytes(in_float32.context(), i)
                                                                       : in_float32.context().input(i).bytes();
  }
  Status pack(const NodeContext& node, size_t i, const void* original, void* packed) const override {
    const FloatNode in_float32(node, but_weight_);
    if (!is_converted(node, i)) {
      return kernel_->pack(in_float32.context(), i, original, packed);
    }
    const Part part(i, node.input(i), 0);
    if (!kernel_->packed_layout(in_float32.context(), i).has_value()) {
      part.dequantize(original, static_cast<float*>(packed), nullptr);
      return {};
    }
    ETX_ASSIGN_OR_RETURN(Buffer numbers, Buffer::allocate_temporary(part.bytes()));
    part.dequantize(original, part.memory(numbers.data()), nullptr);
    return kernel_->pack(in_float32.context(), i, numbers.data(), packed);
  }

  DType packed_from(const NodeContext& node, size_t i) const override {
    const FloatNode in_float32(node, but_weight_);
    return is_converted(node, i) ? Kernel::packed_from(node, i) : kernel_->packed_from(in_float32.context(), i);
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const FloatNode in_float32(node, but_weight_);
    ETX_ASSIGN_OR_RETURN(size_t bytes, kernel_->reshape(in_float32.context(), num_threads));
    bytes = round_up_to_alignment(bytes);
    inputs_.clear();
    outputs_.clear();
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      if (is_converted(node, i) && !node.is_constant(i)) {
        inputs_.emplace_back(i, node.input(i), bytes);
        bytes += inputs_.back().bytes();
      }
    }
    for (size_t i = 0; i < node.num_outputs(); ++i) {
      if (node.output(i).quantization != nullptr) {
        outputs_.emplace_back(i, node.output(i), bytes);
        bytes += outputs_.back().bytes();
      }
    }
    input_data_.resize(node.num_inputs());
    output_data_.resize(node.num_outputs());
    return bytes;
  }

  void run(const KernelArguments& arguments) override {
    std::copy(arguments.inputs.begin(), arguments.inputs.end(), input_data_.begin());
    std::copy(arguments.outputs.begin(), arguments.outputs.end(), output_data_.begin());
    for (const Part& part : inputs_) {
      float* const memory = part.memory(arguments.scratch);
      part.dequantize(arguments.inputs[part.index()], memory, arguments.pool);
      input_data_[part.index()] = memory;
    }
    for (const Part& part : outputs_) {
      output_data_[part.index()] = part.memory(arguments.scratch);
    }
    kernel_->run(
        {{input_data_.data(), input_data_.size()},
         {output_data_.data(), output_data_.size()},
         arguments.scratch,
         arguments.pool,
         arguments.status});
    for (const Part& part : outputs_) {
      part.quantize(part.memory(arguments.scratch), arguments.outputs[part.index()], arguments.pool);
    }
  }

 private:
  bool is_converted(const NodeContext& node, size_t i) const {
    return node.has_input(i) && node.input(i).quantization != nullptr && !(but_weight_ && i == kWeight);
  }

  const std::unique_ptr<Kernel> kernel_;
  const bool but_weight_;
  std::vector<Part> inputs_, outputs_;
  std::vector<const void*> input_data_;
  std::vector<void*> output_data_;
};

} // namespace

std::unique_ptr<Kernel> make_dequantized(const MakeKernel& make, const NodeContext& node) {
  std::unique_ptr<Kernel> kernel = make(FloatNode(node, /*but_weight=*/false).context());
  return kernel == nullptr ? nullptr : std::make_unique<DequantizedKernel>(std::move(kernel), /*but_weight=*/false);
}

std::unique_ptr<Kernel> make_dequantized_but_weight(const MakeKernel& make, const NodeContext& node) {
  if (!node.has_input(kWeight) || !node.is_constant(kWeight)) {
    return nullptr;
  }
  std::unique_ptr<Kernel> kernel = make(FloatNode(node, /*but_weight=*/true).context());
  return kernel == nullptr ? nullptr : std::make_unique<DequantizedKernel>(std::move(kernel), /*but_weight=*/true);
}

} // namespace executorch::backends::et_xnnpack
