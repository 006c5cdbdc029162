// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/span.h>

#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::BackendOption;
using executorch::runtime::Span;

// Which methods compute in the same memory; those that share run one after the other.
enum class WorkspaceSharing { None, Model, Global };

// The options of one loaded method. The table in options.cpp names and documents them.
struct Options {
  int num_threads = 0;
  int state_group = 0;
  bool fuse_elementwise = true;
  bool force_fp16 = false;
  int winograd_tile = 4;
  bool force_bf16 = false;
  bool weight_cache = true;
  std::string packed_cache_path;
  WorkspaceSharing workspace_sharing = WorkspaceSharing::None;
  bool shrink_memory = false;
  bool profiling = true;
};

// Sets what `given` names. Fails with InvalidArgument, changing nothing, for a name that
// does not exist or comes twice, a value of another type or out of range.
Status set_options(Span<const BackendOption> given, Options* options);

// The same from the text form that compile specs have: "1", "true", "model". Refuses what a program may not ask for:
// to write a file, or to share the content of states with others.
Status set_options(executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> given, Options* options);

// Fills in the values of the options that `asked` names. Fails, changing nothing, for
// a name that does not exist.
Status get_options(const Options& options, Span<BackendOption> asked);

// Options that were set one after the other, for methods yet to be loaded. What comes
// later counts.
class OptionChanges {
 public:
  // Fails like set_options.
  Status add(Span<const BackendOption> given);
  Status apply_to(Options* options) const {
    return set_options({changes_.data(), changes_.size()}, options);
  }

 private:
  std::vector<BackendOption> changes_; // each name once
};

} // namespace executorch::backends::et_xnnpack
