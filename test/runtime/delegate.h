// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What ExecuTorch does with the backend, for tests: arguments, handles and blobs that know whether
// they were given back.

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <gtest/gtest.h>
#include <runtime/execute/arguments.h>
#include <runtime/backend.h>

#include "data_map.h"
#include "graph_def.h"
#include "guarded_buffer.h"

namespace executorch::backends::et_xnnpack::testing {

using executorch::aten::ScalarType;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendOptionContext;
using executorch::runtime::DelegateHandle;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::TensorShapeDynamism;

// A tensor of ExecuTorch in memory that ends at an unmapped page.
class TensorArgument {
 public:
  explicit TensorArgument(
      std::vector<int32_t> sizes,
      ScalarType type = ScalarType::Float,
      std::vector<uint8_t> dim_order = {},
      TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND)
      : sizes_(std::move(sizes)),
        dim_order_(std::move(dim_order)),
        strides_(sizes_.size()),
        memory_(count() * executorch::runtime::elementSize(type), true) {
    for (size_t axis = dim_order_.size(); axis < sizes_.size(); ++axis) {
      dim_order_.push_back(static_cast<uint8_t>(axis));
    }
    executorch::runtime::dim_order_to_stride_nocheck(sizes_.data(), dim_order_.data(), sizes_.size(), strides_.data());
    impl_ = std::make_unique<executorch::aten::TensorImpl>(
        type,
        static_cast<ssize_t>(sizes_.size()),
        sizes_.data(),
        memory_.data(),
        dim_order_.data(),
        strides_.data(),
        dynamism);
    value_ = EValue(executorch::aten::Tensor(impl_.get()));
  }

  TensorArgument(std::vector<int32_t> sizes, const std::vector<float>& numbers) : TensorArgument(std::move(sizes)) {
    std::memcpy(memory_.data(), numbers.data(), numbers.size() * sizeof(float));
  }

  EValue* value() {
    return &value_;
  }
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(memory_.data());
  }
  size_t bytes() const {
    return impl_->nbytes();
  }
  const std::vector<int32_t>& sizes() const {
    return sizes_;
  }
  // As many as it has now.
  std::vector<float> numbers() {
    return {data<float>(), data<float>() + impl_->numel()};
  }
  bool intact() const {
    return memory_.intact();
  }

 private:
  size_t count() const {
    size_t product = 1;
    for (const int32_t size : sizes_) {
      product *= static_cast<size_t>(size);
    }
    return product;
  }

  std::vector<int32_t> sizes_;
  std::vector<uint8_t> dim_order_;
  std::vector<int32_t> strides_;
  GuardedBuffer memory_;
  std::unique_ptr<executorch::aten::TensorImpl> impl_;
  EValue value_;
};

// Arguments of the planned sizes, or of others.
struct Call {
  explicit Call(const Blob& blob) : Call(blob, *planned_sizes(blob.graph())) {}
  // With room for results of these shapes, where sizes are found in data.
  Call(const Blob& blob, const Sizes& sizes, const std::vector<Shape>& results = {}) : num_inputs(blob.num_inputs()) {
    StatusOr<std::vector<TensorType>> types = infer_types(blob, sizes);
    for (size_t i = 0; i < results.size(); ++i) {
      (*types)[blob.graph().outputs()->Get(static_cast<uint32_t>(i))->value()].shape = results[i];
    }
    const auto add = [&](uint32_t id, const flatbuffers::Vector<uint8_t>* order) {
      if (id == kNone) {
        integers.push_back(std::make_unique<EValue>(int64_t{1}));
        values.push_back(integers.back().get());
        return;
      }
      const TensorType& type = (*types)[id];
      std::vector<int32_t> shape(type.shape.rank);
      std::vector<uint8_t> dim_order;
      for (size_t axis = 0; axis < type.shape.rank; ++axis) {
        const size_t at = order == nullptr ? axis : order->Get(static_cast<uint32_t>(axis));
        shape[at] = static_cast<int32_t>(type.shape[axis]);
        dim_order.push_back(static_cast<uint8_t>(at));
      }
      tensors.push_back(std::make_unique<TensorArgument>(shape, scalar_type(type.dtype), dim_order));
      std::memset(tensors.back()->data<char>(), 0, type.bytes());
      values.push_back(tensors.back()->value());
    };
    for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
      add(blob.graph().inputs()->Get(i)->value(), blob.graph().inputs()->Get(i)->dim_order());
    }
    for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
      add(blob.graph().outputs()->Get(i)->value(), blob.graph().outputs()->Get(i)->dim_order());
    }
  }

  // What outputs hold.
  std::vector<std::string> results() const {
    std::vector<std::string> bytes;
    for (size_t i = num_inputs; i < values.size(); ++i) {
      const auto& tensor = values[i]->toTensor();
      bytes.emplace_back(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    }
    return bytes;
  }

  size_t num_inputs;
  std::vector<std::unique_ptr<TensorArgument>> tensors;
  std::vector<std::unique_ptr<EValue>> integers;
  std::vector<EValue*> values;
};

// A blob in memory of its own that is gone when it was freed.
class BlobBuffer {
 public:
  explicit BlobBuffer(std::vector<uint8_t> bytes)
      : bytes_(std::make_unique<std::vector<uint8_t>>(std::move(bytes))),
        buffer_(bytes_->data(), bytes_->size(), &BlobBuffer::free, this) {}

  FreeableBuffer* buffer() {
    return &buffer_;
  }
  int times_freed() const {
    return times_freed_;
  }

 private:
  static void free(void* context, void*, size_t) {
    auto* self = static_cast<BlobBuffer*>(context);
    self->bytes_.reset();
    ++self->times_freed_;
  }

  std::unique_ptr<std::vector<uint8_t>> bytes_;
  FreeableBuffer buffer_;
  int times_freed_ = 0;
};

inline BackendOption option(const std::string& key, executorch::runtime::OptionValue value) {
  BackendOption result;
  std::memcpy(result.key, key.c_str(), std::min(key.size() + 1, sizeof(result.key)));
  result.value = std::move(value);
  return result;
}

// One delegate of a loaded method, destroyed with the method.
class Method {
 public:
  Method(
      EtXnnpackBackend& backend,
      const std::vector<uint8_t>& blob,
      const DataMap* data = nullptr,
      const std::vector<BackendOption>& options = {},
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs = {})
      : backend_(backend) {
    BlobBuffer processed(blob);
    BackendInitContext context(nullptr, nullptr, "forward", data, {options.data(), options.size()});
    const auto result = backend_.init(context, processed.buffer(), specs);
    error = result.error();
    if (result.ok()) {
      handle = *result;
    }
    EXPECT_EQ(processed.times_freed(), blob.empty() ? 0 : 1);
    EXPECT_EQ(processed.buffer()->size(), 0u);
    if (data != nullptr) {
      EXPECT_EQ(data->in_use(), 0);
    }
  }
  Method(Method&& other) noexcept
      : handle(std::exchange(other.handle, nullptr)), error(other.error), backend_(other.backend_) {}
  ~Method() {
    if (handle != nullptr) {
      backend_.destroy(handle);
    }
  }

  Error execute(std::vector<EValue*> arguments) {
    BackendExecutionContext context;
    return backend_.execute(context, handle, {arguments.data(), arguments.size()});
  }

  DelegateHandle* handle = nullptr;
  Error error = Error::Ok;

 private:
  EtXnnpackBackend& backend_;
};

} // namespace executorch::backends::et_xnnpack::testing
