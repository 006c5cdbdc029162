// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace executorch::backends::et_xnnpack::testing {

// Memory between two unmapped pages; bytes that its user has no business with must stay
// as they were.
class GuardedBuffer {
 public:
  GuardedBuffer(size_t size, bool at_end) : size_(size) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    usable_ = (size + page - 1) / page * page + page;
    mapped_ = usable_ + 2 * page;
    base_ = static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    begin_ = base_ + page;
    mprotect(begin_, usable_, PROT_READ | PROT_WRITE);
    std::memset(begin_, kCanary, usable_);
    data_ = at_end ? begin_ + usable_ - size : begin_;
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() {
    munmap(base_, mapped_);
  }

  uint8_t* data() {
    return data_;
  }
  bool intact() const {
    for (const uint8_t* p = begin_; p < begin_ + usable_; ++p) {
      if ((p < data_ || p >= data_ + size_) && *p != kCanary) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr uint8_t kCanary = 0xA5;
  size_t size_, usable_, mapped_;
  uint8_t *base_, *begin_, *data_;
};

} // namespace executorch::backends::et_xnnpack::testing
