// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/span.h>

#include "status.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::BackendOption;
using executorch::runtime::Span;

// The options of one loaded method. The table in options.cpp names and documents them.
struct Options {
  int num_threads = 0;
  int state_group = 0;
  int fuse_elementwise = 1;
  int weight_cache = 1;
};

// Sets what `given` names. Fails with InvalidArgument, changing nothing, for a name that
// does not exist or comes twice, a value of another type or out of range.
Status set_options(Span<const BackendOption> given, Options* options);

// Fills in the values of the options that `asked` names. Fails, changing nothing, for
// a name that does not exist.
Status get_options(const Options& options, Span<BackendOption> asked);

} // namespace executorch::backends::et_xnnpack
