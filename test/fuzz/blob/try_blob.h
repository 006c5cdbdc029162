// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include "calls.h"

namespace executorch::backends::et_xnnpack::testing {

// What became of a blob: where it ended, and how many of its calls were good.
struct Trial {
  enum class End { Refused, TooLarge, NotLoaded, Loaded };
  End end = End::Refused;
  size_t ran = 0, failed = 0;
  std::string broken; // what the runtime promises and did not do; empty if all is well
};

// Opens, loads, and calls a blob of whatever content, with weights and arguments of just the size that it declares. Says
// what is wrong with answers; a sanitizer sees the rest.
Trial try_blob(const Attempt& attempt);

} // namespace executorch::backends::et_xnnpack::testing
