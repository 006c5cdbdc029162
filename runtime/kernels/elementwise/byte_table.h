// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// A function of bytes by its results for all 256.
class ByteTable {
 public:
  using Entries = std::array<uint8_t, 256>;

  explicit ByteTable(const Entries& entries);

  // y[i] = table[x[i]]. y may be x.
  void look_up(const uint8_t* x, uint8_t* y, size_t count) const {
    look_up_(prepared_.data(), x, y, count);
  }

 private:
  Entries prepared_; // the entries as look_up_ wants them
  void (*look_up_)(const uint8_t* prepared, const uint8_t* x, uint8_t* y, size_t count);
};

} // namespace executorch::backends::et_xnnpack
