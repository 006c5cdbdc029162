// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

#include "guarded_buffer.h"

namespace executorch::backends::et_xnnpack::testing {

// Named data in memory. Each buffer that it hands out is a copy that ends at an unmapped page, or
// begins at one if it is misaligned, and is gone when it was freed. Several threads
// may ask once it is filled.
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
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(handed_out_.size());
  }
  // Bytes of these buffers at most at once, and keys in the order in which they were asked for.
  size_t peak_bytes() const {
    return peak_bytes_;
  }
  const std::vector<std::string>& asked() const {
    return asked_;
  }
  void forget() {
    peak_bytes_ = bytes_;
    asked_.clear();
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
    auto buffer = std::make_unique<GuardedBuffer>(misalignment_ + size, misalignment_ == 0);
    uint8_t* const data = buffer->data() + misalignment_;
    std::copy(found->second.begin(), found->second.end(), data);
    const auto free = [](void* context, void* memory, size_t freed) {
      const auto* map = static_cast<const DataMap*>(context);
      const std::lock_guard<std::mutex> lock(map->mutex_);
      map->handed_out_.erase(memory);
      map->bytes_ -= freed;
    };
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_ += size;
    peak_bytes_ = std::max(peak_bytes_, bytes_);
    asked_.emplace_back(key);
    handed_out_[data] = std::move(buffer);
    return executorch::runtime::FreeableBuffer(data, size, free, const_cast<DataMap*>(this));
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
  Result<const char*> get_key(uint32_t index) const override {
    return std::next(data_.begin(), index)->first.c_str();
  }

 private:
  std::map<std::string, std::vector<uint8_t>> data_;
  size_t misalignment_ = 0;
  mutable std::mutex mutex_; // guards what follows
  mutable std::map<const void*, std::unique_ptr<GuardedBuffer>> handed_out_;
  mutable size_t bytes_ = 0, peak_bytes_ = 0;
  mutable std::vector<std::string> asked_;
};

} // namespace executorch::backends::et_xnnpack::testing
