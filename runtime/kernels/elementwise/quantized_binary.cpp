// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "quantized_binary.h"

#include <algorithm>
#include <array>
#include <utility>

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlock = 512; // elements whose numbers are on the stack

class QuantizedBinary final : public Row {
 public:
  QuantizedBinary(
      std::unique_ptr<Row> function,
      const std::optional<ByteQuantization>& a,
      const std::optional<ByteQuantization>& b,
      const std::optional<ByteQuantization>& y)
      : function_(std::move(function)), operands_{{a, b}}, result_(y) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    float numbers[2][kBlock];
    float results[kBlock];
    for (size_t begin = 0; begin < count; begin += kBlock) {
      const size_t size = std::min(kBlock, count - begin);
      const RowOperand blocks[2] = {
          block(0, operands, begin, size, numbers[0]), block(1, operands, begin, size, numbers[1])};
      if (!result_.has_value()) {
        function_->run(blocks, static_cast<float*>(y) + begin, size);
      } else {
        function_->run(blocks, results, size);
        quantize_bytes(*result_, results, static_cast<uint8_t*>(y) + begin, size);
      }
    }
  }

 private:
  // Operand k from `begin` on; its numbers are in `numbers` if it is quantized.
  RowOperand block(size_t k, const RowOperand* operands, size_t begin, size_t size, float* numbers) const {
    const size_t from = operands[k].moves ? begin : 0;
    if (!operands_[k].has_value()) {
      return {static_cast<const float*>(operands[k].data) + from, operands[k].moves};
    }
    dequantize_bytes(
        *operands_[k], static_cast<const uint8_t*>(operands[k].data) + from, numbers, operands[k].moves ? size : 1);
    return {numbers, operands[k].moves};
  }

  const std::unique_ptr<Row> function_;
  const std::array<std::optional<ByteQuantization>, 2> operands_;
  const std::optional<ByteQuantization> result_;
};

} // namespace

std::unique_ptr<Row> quantized_binary_row(
    std::unique_ptr<Row> function,
    const std::optional<ByteQuantization>& a,
    const std::optional<ByteQuantization>& b,
    const std::optional<ByteQuantization>& y) {
  return std::make_unique<QuantizedBinary>(std::move(function), a, b, y);
}

} // namespace executorch::backends::et_xnnpack
