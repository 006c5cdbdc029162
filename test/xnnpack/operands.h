// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Operands of a product for XNNPACK, and what plain loops make of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <xnnpack.h>

namespace executorch::backends::et_xnnpack::testing {

// Of the input and of the weights, as XNNPACK names them.
enum class Format { F32, F16, F32C8, F32C4, QS8, QS8C8, QD8C8, QD8C4, QD8B4, QDU8C8, QDU8C4, QDU8B4 };

const char* name_of(Format format);
bool is_float(Format format); // of input and output
bool is_dynamic(Format format); // each row, or image, to a scale and zero point of its own
bool is_unsigned(Format format); // then 128 more is in memory, for numbers and zero points
bool has_blocks(Format format);
bool is_quantized(Format format); // input and output, all with the same
size_t input_bytes(Format format); // of an element
size_t output_bytes(Format format);

constexpr size_t kBlock = 32; // the smallest, of numbers in a column of a weight with one scale
constexpr int kInputZero = 3, kOutputZero = -5; // of what is quantized

class Random {
 public:
  // From `low` to `high`.
  int next(int low, int high);

 private:
  uint32_t state_ = 12345;
};

// Weights [groups, columns, taps, depth]: of a linear layer if there is one group and one tap. Floats are
// integers so small that every sum is exact, whatever its order.
struct Weights {
  Weights(
      Format f,
      size_t num_groups,
      size_t num_columns,
      size_t num_taps,
      size_t num_deep,
      bool clamped,
      size_t block_size = kBlock);

  Format format;
  size_t groups, columns, taps, depth;
  size_t block; // of numbers in a column with one scale: all of them without blocks
  int most; // size of a number of the input
  float min, max; // of the output
  std::vector<int> numbers;
  std::vector<float> scales; // of columns, or blocks of them
  std::vector<int> bias;

  size_t all_columns() const {
    return groups * columns;
  }
  // The operands as XNNPACK takes them.
  std::vector<uint8_t> kernel() const;
  std::vector<uint8_t> bias_bytes() const; // empty: none
  std::vector<uint16_t> block_scales() const;
};

struct Expected {
  double value, tolerance;
};

// Element `column` of all columns of a row: `window` has `taps` pointers to `depth` numbers of the column's group,
// null for padding.
Expected expect(
    const Weights& w, size_t column, const std::vector<const int*>& window, const xnn_quantization_params& parameters);

// Numbers of the input, other ones in each row.
std::vector<int> some_rows(const Weights& w, size_t rows, size_t row_size);

void write_input(Format format, const int* from, size_t count, void* to);
double read_output(Format format, const void* from, size_t i);

} // namespace executorch::backends::et_xnnpack::testing
