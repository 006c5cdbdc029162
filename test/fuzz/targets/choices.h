// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>

namespace executorch::backends::et_xnnpack::testing {

// What bytes decide, one after the other. When they are over all is 0.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool is_over() const {
    return at_ == end_;
  }
  uint8_t byte() {
    return at_ == end_ ? uint8_t{0} : *at_++;
  }
  // REQUIRES: count is 1 to 256
  size_t below(size_t count) {
    return byte() % count;
  }
  template <typename Array>
  const auto& of(const Array& array) {
    return array[below(std::size(array))];
  }
  template <typename T>
  T number() {
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      bits |= uint64_t{byte()} << 8 * i;
    }
    return static_cast<T>(bits);
  }
  // Of any bytes, up to 255.
  std::string text() {
    std::string text(byte(), '\0');
    for (char& c : text) {
      c = static_cast<char>(byte());
    }
    return text;
  }

 private:
  const uint8_t *at_, *const end_;
};

} // namespace executorch::backends::et_xnnpack::testing
