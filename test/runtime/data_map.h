// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

namespace executorch::backends::et_xnnpack::testing {

// Named data in memory. Each buffer that it hands out is a copy of exactly the size, so that a
// sanitizer sees a read behind its end or after it was freed.
class DataMap final : public executorch::runtime::NamedDataMap {
 public:
  using Error = executorch::runtime::Error;
  template <typename T>
  using Result = executorch::runtime::Result<T>;

  void add(const std::string& key, std::vector<uint8_t> data) {
    data_[key] = std::move(data);
  }
  void add(const std::string& key, const std::vector<float>& data) {
    std::vector<uint8_t> bytes(data.size() * sizeof(float));
    std::memcpy(bytes.data(), data.data(), bytes.size());
    add(key, std::move(bytes));
  }
  // Buffers that were handed out and not freed yet.
  int in_use() const {
    return in_use_;
  }
  // Puts the data at this distance behind an aligned address.
  void misalign(size_t bytes) {
    misalignment_ = bytes;
  }

  Result<executorch::runtime::FreeableBuffer> get_data(std::string_view key) const override {
    const auto found = data_.find(std::string(key));
    if (found == data_.end()) {
      return Error::NotFound;
    }
    const size_t size = found->second.size();
    auto* memory = new uint8_t[misalignment_ + size];
    std::memcpy(memory + misalignment_, found->second.data(), size);
    ++in_use_;
    const auto free = [](void* context, void* data, size_t) {
      const auto* map = static_cast<const DataMap*>(context);
      delete[] (static_cast<uint8_t*>(data) - map->misalignment_);
      --map->in_use_;
    };
    return executorch::runtime::FreeableBuffer(
        memory + misalignment_, size, free, const_cast<DataMap*>(this));
  }

  Result<const executorch::runtime::TensorLayout> get_tensor_layout(std::string_view) const override {
    return Error::NotImplemented;
  }
  Error load_data_into(std::string_view, void*, size_t) const override {
    return Error::NotImplemented;
  }
  Result<uint32_t> get_num_keys() const override {
    return static_cast<uint32_t>(data_.size());
  }
  Result<const char*> get_key(uint32_t) const override {
    return Error::NotImplemented;
  }

 private:
  std::map<std::string, std::vector<uint8_t>> data_;
  size_t misalignment_ = 0;
  mutable int in_use_ = 0;
};

} // namespace executorch::backends::et_xnnpack::testing
