// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// XNNPACK's operators for each format, and memory around which nothing may be touched.

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "operands.h"

namespace executorch::backends::et_xnnpack::testing {

// Memory that ends at an unmapped page, of another size at every use.
class Fence {
 public:
  explicit Fence(size_t most);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence();

  // `size` bytes, behind which `readable` ones may be read. All have the same value.
  uint8_t* use(size_t size, size_t readable = 0);
  static constexpr uint8_t kUntouched = 0xA5;
  // Whether what is before the memory in use is as it was.
  bool intact() const;

 private:
  size_t mapped_;
  uint8_t *base_ = nullptr, *end_ = nullptr, *data_ = nullptr;
};

struct DeleteOperator {
  void operator()(xnn_operator_t op) const {
    xnn_delete_operator(op);
  }
};
using Operator = std::unique_ptr<std::remove_pointer_t<xnn_operator_t>, DeleteOperator>;

// Null if the CPU is not supported. Strides in elements.
Operator create_linear(const Weights& w, size_t x_stride, size_t y_stride);
xnn_status reshape_linear(Format format, xnn_operator_t op, size_t rows, pthreadpool_t pool);
xnn_status setup_linear(
    Format format, xnn_operator_t op, const void* x, void* y, const xnn_quantization_params* parameters);

// A window of 1 x taps with one pixel of padding at either side if it has three.
Operator create_conv(const Weights& w, size_t x_stride, size_t y_stride, uint32_t flags);
xnn_status reshape_conv(
    Format format, xnn_operator_t op, size_t images, size_t width, size_t* workspace, pthreadpool_t pool);
xnn_status setup_conv(
    Format format,
    xnn_operator_t op,
    void* workspace,
    const void* x,
    void* y,
    const xnn_quantization_params* parameters);

// Rows of an output in memory that nothing but they may be written to.
class Output {
 public:
  Output(Fence& fence, Format format, size_t rows, size_t row_size, size_t stride);

  void* data() {
    return data_;
  }
  size_t stride_bytes() const {
    return stride_bytes_;
  }
  // `expected` has at least as many rows of `row_size`, all groups in a row.
  void check(const std::vector<Expected>& expected) const;

 private:
  Fence& fence_;
  Format format_;
  size_t rows_, row_size_, stride_bytes_;
  uint8_t* data_;
};

// Whether the environment asks for every combination of sizes.
bool wants_all();

// What is being computed, should a signal end the process.
void announce(const std::string& what);
const char* last_announced();

} // namespace executorch::backends::et_xnnpack::testing
