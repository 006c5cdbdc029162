// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention.h"

#include <cmath>
#include <limits>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

class Attention final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Attention>();
    query_ = node.input(0).shape;
    key_ = node.input(1).shape;
    value_ = node.input(2).shape;
    mask_ = node.has_input(3) ? node.input(3) : TensorType{};
    has_mask_ = node.has_input(3);
    scale_ = attributes.scale();
    causal_ = attributes.causal();
    return key_[key_.rank - 2] * sizeof(float);
  }

  void run(const KernelArguments& arguments) override {
    const size_t rank = query_.rank;
    const size_t rows = query_[rank - 2], width = query_[rank - 1];
    const size_t keys = key_[rank - 2], value_width = value_[rank - 1];
    const size_t heads = query_.numel(0, rank - 2);
    const size_t group = rank < 3 || key_[rank - 3] == 0 ? 1 : query_[rank - 3] / key_[rank - 3];
    float* scores = static_cast<float*>(arguments.scratch);
    for (size_t head = 0; head < heads; ++head) {
      const float* query = static_cast<const float*>(arguments.inputs[0]) + head * rows * width;
      const float* key = static_cast<const float*>(arguments.inputs[1]) + head / group * keys * width;
      const float* value = static_cast<const float*>(arguments.inputs[2]) + head / group * keys * value_width;
      float* output = static_cast<float*>(arguments.outputs[0]) + head * rows * value_width;
      for (size_t row = 0; row < rows; ++row) {
        float highest = -std::numeric_limits<float>::infinity();
        bool nan = false;
        for (size_t k = 0; k < keys; ++k) {
          float score = 0;
          for (size_t e = 0; e < width; ++e) {
            score += query[row * width + e] * key[k * width + e];
          }
          score *= scale_;
          if (has_mask_) {
            const size_t m = mask_offset(head, row, k);
            if (mask_.dtype == DType::Bool) {
              score = static_cast<const uint8_t*>(arguments.inputs[3])[m] != 0 ? score : -std::numeric_limits<float>::infinity();
            } else {
              score += static_cast<const float*>(arguments.inputs[3])[m];
            }
          }
          if (causal_ && k > row) {
            score = -std::numeric_limits<float>::infinity();
          }
          scores[k] = score;
          nan = nan || std::isnan(score);
          highest = std::max(highest, score);
        }
        float sum = 0;
        const bool empty = highest == -std::numeric_limits<float>::infinity() && !nan;
        for (size_t k = 0; k < keys; ++k) {
          scores[k] = empty ? 0 : std::exp(scores[k] - highest);
          sum += scores[k];
        }
        for (size_t e = 0; e < value_width; ++e) {
          float total = 0;
          for (size_t k = 0; k < keys; ++k) {
            total += scores[k] * value[k * value_width + e];
          }
          output[row * value_width + e] = empty ? 0 : total / sum;
        }
      }
    }
  }

 private:
  size_t mask_offset(size_t head, size_t row, size_t key) const {
    const size_t rank = query_.rank, shift = rank - mask_.shape.rank;
    size_t offset = 0, stride = 1;
    for (size_t axis = rank; axis-- > shift;) {
      size_t index;
      if (axis == rank - 1) {
        index = key;
      } else if (axis == rank - 2) {
        index = row;
      } else {
        index = head % query_[axis];
        head /= query_[axis];
      }
      const size_t size = mask_.shape[axis - shift];
      offset += (size == 1 ? 0 : index) * stride;
      stride *= size;
    }
    return offset;
  }

  Shape query_, key_, value_;
  TensorType mask_;
  bool has_mask_ = false;
  float scale_ = 1;
  bool causal_ = false;
};

} // namespace

std::unique_ptr<Kernel> make_attention(const NodeContext&) {
  return std::make_unique<Attention>();
}

} // namespace executorch::backends::et_xnnpack
