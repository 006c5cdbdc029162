// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

// How integers stand for numbers: with one scale, or one for each index of an axis. Owns what the
// types of its tensors refer to.
class Quantized {
 public:
  Quantized(DType stored, float scale, int32_t zero_point)
      : Quantized(stored, std::vector<float>{scale}, std::vector<int32_t>{zero_point}, 0) {}
  Quantized(DType stored, const std::vector<float>& scales, const std::vector<int32_t>& zero_points, uint8_t axis)
      : stored_(stored), scales_(scales), zero_points_(zero_points), axis_(axis) {
    builder_.Finish(schema::CreateQuantizationDirect(builder_, &scales_, &zero_points_, axis));
  }

  TensorType type(const Shape& shape) const {
    TensorType type;
    type.shape = shape;
    type.quantized_dtype = stored_;
    type.quantization = flatbuffers::GetRoot<schema::Quantization>(builder_.GetBufferPointer());
    return type;
  }

  // The nearest to these numbers, a tie to the even one.
  NodeTensor tensor(const Shape& shape, const std::vector<float>& numbers) const {
    NodeTensor tensor = empty(shape);
    const float low = stored_ == DType::Int8 ? -128.0f : stored_ == DType::UInt8 ? 0.0f : -0x1p30f;
    const float high = stored_ == DType::Int8 ? 127.0f : stored_ == DType::UInt8 ? 255.0f : 0x1p30f;
    for (size_t i = 0; i < tensor.numel(); ++i) {
      const size_t k = index(shape, i);
      const float q = std::nearbyint(numbers[i] * (1 / scales_[k])) + static_cast<float>(zero_points_[k]);
      store(tensor, i, static_cast<int32_t>(std::min(std::max(q, low), high)));
    }
    return tensor;
  }

  // All integers of 8 bits in turn.
  NodeTensor every(const Shape& shape) const {
    NodeTensor tensor = empty(shape);
    for (size_t i = 0; i < tensor.numel(); ++i) {
      tensor.bytes[i] = static_cast<uint8_t>(i * 37);
    }
    return tensor;
  }

  std::vector<float> numbers(const NodeTensor& tensor) const {
    std::vector<float> result(tensor.numel());
    for (size_t i = 0; i < result.size(); ++i) {
      const int32_t q = stored_ == DType::Int8 ? tensor.data<int8_t>()[i]
          : stored_ == DType::UInt8            ? tensor.data<uint8_t>()[i]
                                               : tensor.data<int32_t>()[i];
      const size_t k = index(tensor.shape(), i);
      result[i] = (static_cast<float>(q) - static_cast<float>(zero_points_[k])) * scales_[k];
    }
    return result;
  }

 private:
  NodeTensor empty(const Shape& shape) const {
    NodeTensor tensor = Tensor(stored_, shape);
    tensor.type = type(shape);
    return tensor;
  }

  void store(NodeTensor& tensor, size_t i, int32_t q) const {
    if (stored_ == DType::Int32) {
      tensor.data<int32_t>()[i] = q;
    } else {
      tensor.bytes[i] = static_cast<uint8_t>(q);
    }
  }

  // Of the scale for element i.
  size_t index(const Shape& shape, size_t i) const {
    return scales_.size() == 1 ? 0 : i / shape.numel(axis_ + size_t{1}, shape.rank) % scales_.size();
  }

  DType stored_;
  std::vector<float> scales_;
  std::vector<int32_t> zero_points_;
  uint8_t axis_;
  flatbuffers::FlatBufferBuilder builder_;
};

} // namespace executorch::backends::et_xnnpack::testing
