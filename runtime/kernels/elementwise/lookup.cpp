// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "lookup.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/ops/op.h"
#include "runtime/program/quantization.h"
#include "runtime/kernels/move/data_movement.h"
#include "elementwise.h"
#include "runtime/kernels/quantize/quantize.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 32768; // elements
constexpr size_t kEntries = 256;

bool is_byte(const TensorType& type) {
  return is_per_tensor(type, DType::Int8) || is_per_tensor(type, DType::UInt8);
}

void dequantize_bytes(const TensorType& type, const uint8_t* q, float* x, size_t count) {
  const auto zero_point = static_cast<float>(zero_point_of(type));
  if (type.stored == DType::Int8) {
    dequantize_row<int8_t>()(reinterpret_cast<const int8_t*>(q), x, count, scale_of(type), zero_point);
  } else {
    dequantize_row<uint8_t>()(q, x, count, scale_of(type), zero_point);
  }
}

void quantize_bytes(const TensorType& type, const float* x, uint8_t* q, size_t count) {
  const auto zero_point = static_cast<float>(zero_point_of(type));
  if (type.stored == DType::Int8) {
    const QuantizeParameters parameters{1 / scale_of(type), zero_point, INT8_MIN, INT8_MAX};
    quantize_row<int8_t>()(x, reinterpret_cast<int8_t*>(q), count, parameters);
  } else {
    quantize_row<uint8_t>()(x, q, count, {1 / scale_of(type), zero_point, 0, UINT8_MAX});
  }
}

// What the node gives for each byte. T is uint8_t or float.
template <typename T>
std::array<T, kEntries> make_table(const NodeContext& node) {
  std::array<uint8_t, kEntries> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  std::array<float, kEntries> x, y;
  dequantize_bytes(node.input(0), bytes.data(), x.data(), kEntries);
  compute_unary(node, x.data(), y.data(), kEntries);
  if constexpr (std::is_same_v<T, float>) {
    return y;
  } else {
    quantize_bytes(node.output(), y.data(), bytes.data(), kEntries);
    return bytes;
  }
}

template <typename T>
class LookupRow final : public Row {
 public:
  explicit LookupRow(const NodeContext& node) : table_(make_table<T>(node)) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    const uint8_t* const x = static_cast<const uint8_t*>(operands[0].data);
    T* const to = static_cast<T*>(y);
    if (!operands[0].moves) {
      std::fill_n(to, count, table_[*x]);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      to[i] = table_[x[i]];
    }
  }

 private:
  const std::array<T, kEntries> table_;
};

class DequantizeCopy final : public Row {
 public:
  explicit DequantizeCopy(const TensorType& type) : type_(type) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    float* const x = static_cast<float*>(y);
    const size_t different = operands[0].moves ? count : 1;
    dequantize_bytes(type_, static_cast<const uint8_t*>(operands[0].data), x, different);
    std::fill(x + different, x + count, x[0]);
  }

 private:
  const TensorType type_;
};

class QuantizeCopy final : public Row {
 public:
  explicit QuantizeCopy(const TensorType& type) : type_(type) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    uint8_t* const q = static_cast<uint8_t*>(y);
    const size_t different = operands[0].moves ? count : 1;
    quantize_bytes(type_, static_cast<const float*>(operands[0].data), q, different);
    std::fill(q + different, q + count, q[0]);
  }

 private:
  const TensorType type_;
};

// A row for a whole tensor.
class RowKernel final : public Kernel {
 public:
  explicit RowKernel(std::unique_ptr<Row> row) : row_(std::move(row)) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    count_ = node.output().shape.numel();
    from_ = element_size(node.input(0).storage());
    to_ = element_size(node.output().storage());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    parallel_for(arguments.pool, count_, kGrain, [&](size_t begin, size_t end) {
      const RowOperand x{arguments.input<char>(0) + begin * from_, true};
      row_->run(&x, arguments.output<char>(0) + begin * to_, end - begin);
    });
  }

 private:
  const std::unique_ptr<Row> row_;
  size_t count_ = 0, from_ = 1, to_ = 1;
};

} // namespace

std::unique_ptr<Row> make_quantized_unary_row(const NodeContext& node) {
  const bool copies = node.attributes<schema::Unary>().kind() == schema::UnaryKind::Copy;
  const TensorType& x = node.input(0);
  const TensorType& y = node.output();
  if (is_byte(x) && is_byte(y)) {
    return std::make_unique<LookupRow<uint8_t>>(node);
  }
  if (is_byte(x) && y.quantization == nullptr) {
    return copies ? std::unique_ptr<Row>(std::make_unique<DequantizeCopy>(x))
                  : std::make_unique<LookupRow<float>>(node);
  }
  if (copies && x.quantization == nullptr && is_byte(y)) {
    return std::make_unique<QuantizeCopy>(y);
  }
  return nullptr;
}

std::unique_ptr<Kernel> make_quantized_unary(const NodeContext& node) {
  if (node.attributes<schema::Unary>().kind() == schema::UnaryKind::Copy && has_one_quantization(node)) {
    return make_copy(node);
  }
  std::unique_ptr<Row> row = make_quantized_unary_row(node);
  return row == nullptr ? nullptr : std::make_unique<RowKernel>(std::move(row));
}

} // namespace executorch::backends::et_xnnpack
