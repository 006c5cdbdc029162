// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// How a product with weights of integers divides its depth: into groups, whose weights have scales of their own, those
// into blocks, in which the numbers of a row have one unit, and blocks into eights. The last one of a group is filled
// up.
struct FixedPointDepth {
  static constexpr size_t kBlock = 128, kEight = 8;

  size_t groups = 1, group_size = 0;

  size_t padded_group() const {
    return round_up(group_size, kEight);
  }
  size_t eights_of_group() const {
    return padded_group() / kEight;
  }
  size_t blocks_of_group() const {
    return divide_up(group_size, kBlock);
  }
  size_t blocks() const {
    return groups * blocks_of_group();
  }
  size_t padded() const {
    return groups * padded_group();
  }
};

// Rows of floats in fixed point. A number is unit * (sum over d of digit[d] * 256^d), with digits from -128 to 127 and
// a power of two for the unit.
struct FixedPointRows {
  static constexpr size_t kMaxDigits = 4;

  FixedPointDepth depth;
  size_t digits = 3; // that count; the largest one is the last of them
  // Of each eight numbers 0, 2, 4 and 6, then 1, 3, 5 and 7: digit 0 of these four, their digit 1 and so on up to
  // kMaxDigits.
  int8_t* digit = nullptr;
  int32_t* digit_sum = nullptr; // [rows, blocks, kMaxDigits]
  float* unit = nullptr; // [rows, blocks]
  float* sum = nullptr; // [rows, blocks], in units

  // Bytes from a row to the next. Those that are read together do not compete for the same places of a cache.
  size_t stride() const {
    return round_up(depth.padded() * kMaxDigits, 64) + 64;
  }
};

// Bytes of memory for rows, and where they are in it. REQUIRES: it is aligned to 64 bytes
size_t fixed_point_rows_bytes(const FixedPointDepth& depth, size_t rows);
FixedPointRows place_fixed_point_rows(const FixedPointDepth& depth, size_t rows, void* memory);

// Converts row `row` of floats, groups * group_size of them. False, if digits are too few for it: if not all of it is
// finite, or all numbers of a block but the largest one lose more than 2^-17 of what they are.
// REQUIRES: has_byte_dot()
bool convert_to_fixed_point(const float* x, const FixedPointRows& rows, size_t row);

} // namespace executorch::backends::et_xnnpack
