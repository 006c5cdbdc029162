// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "status.h"

#include <cstdarg>
#include <cstdio>

namespace executorch::backends::et_xnnpack {

Status failure(Error code, const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof(buffer), format, args);
  va_end(args);
  return Status(code, buffer);
}

} // namespace executorch::backends::et_xnnpack
