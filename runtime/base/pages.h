// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What files need that ask the system for pages of memory.

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace executorch::backends::et_xnnpack {

inline size_t page_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Leaves errno as it is for callers: memory also goes in destructors.
class SavedErrno {
 public:
  SavedErrno() = default;
  SavedErrno(const SavedErrno&) = delete;
  SavedErrno& operator=(const SavedErrno&) = delete;
  ~SavedErrno() {
    errno = saved_;
  }

 private:
  const int saved_ = errno;
};

} // namespace executorch::backends::et_xnnpack
#endif
