// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "lookup.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "byte_table.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kEntries = 256;

// What `function` makes of what each byte stands for.
std::array<float, kEntries> all_results(const Row* function, const ByteQuantization& from) {
  std::array<uint8_t, kEntries> bytes;
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  std::array<float, kEntries> x, y;
  dequantize_bytes(from, bytes.data(), x.data(), kEntries);
  if (function == nullptr) {
    return x;
  }
  const RowOperand operand{x.data(), true};
  function->run(&operand, y.data(), kEntries);
  return y;
}

class LookupBytes final : public Row {
 public:
  explicit LookupBytes(const ByteTable& table) : table_(table) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    uint8_t* const q = static_cast<uint8_t*>(y);
    const size_t different = operands[0].moves ? count : 1;
    table_.look_up(static_cast<const uint8_t*>(operands[0].data), q, different);
    std::fill(q + different, q + count, q[0]);
  }

 private:
  const ByteTable table_;
};

class LookupFloats final : public Row {
 public:
  explicit LookupFloats(const std::array<float, kEntries>& table) : table_(table) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    const uint8_t* const x = static_cast<const uint8_t*>(operands[0].data);
    float* const to = static_cast<float*>(y);
    if (!operands[0].moves) {
      std::fill_n(to, count, table_[*x]);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      to[i] = table_[x[i]];
    }
  }

 private:
  const std::array<float, kEntries> table_;
};

class DequantizeBytes final : public Row {
 public:
  explicit DequantizeBytes(const ByteQuantization& type) : type_(type) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    float* const x = static_cast<float*>(y);
    const size_t different = operands[0].moves ? count : 1;
    dequantize_bytes(type_, static_cast<const uint8_t*>(operands[0].data), x, different);
    std::fill(x + different, x + count, x[0]);
  }

 private:
  const ByteQuantization type_;
};

class QuantizeBytes final : public Row {
 public:
  explicit QuantizeBytes(const ByteQuantization& type) : type_(type) {}
  void run(const RowOperand* operands, void* y, size_t count) const override {
    uint8_t* const q = static_cast<uint8_t*>(y);
    const size_t different = operands[0].moves ? count : 1;
    quantize_bytes(type_, static_cast<const float*>(operands[0].data), q, different);
    std::fill(q + different, q + count, q[0]);
  }

 private:
  const ByteQuantization type_;
};

} // namespace

std::unique_ptr<Row> lookup_row(const Row* function, const ByteQuantization& from, const ByteQuantization& to) {
  const std::array<float, kEntries> results = all_results(function, from);
  ByteTable::Entries bytes;
  quantize_bytes(to, results.data(), bytes.data(), kEntries);
  return std::make_unique<LookupBytes>(ByteTable(bytes));
}

std::unique_ptr<Row> lookup_row(const Row* function, const ByteQuantization& from) {
  if (function == nullptr) {
    return std::make_unique<DequantizeBytes>(from);
  }
  return std::make_unique<LookupFloats>(all_results(function, from));
}

std::unique_ptr<Row> quantize_bytes_row(const ByteQuantization& to) {
  return std::make_unique<QuantizeBytes>(to);
}

} // namespace executorch::backends::et_xnnpack
