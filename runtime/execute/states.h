// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <map>
#include <string>

#include "runtime/base/memory.h"
#include "runtime/base/mutex.h"
#include "runtime/weights/weights.h"

namespace executorch::backends::et_xnnpack {

// The content of states, by name. One executable has it for itself, or several that are
// loaded into one group share it.
class States : GoesUnlocked<> {
 public:
  // Held while an executable runs or is loaded.
  Mutex<LockLevel::States>& mutex() {
    return mutex_;
  }

  // The memory of a state, which gets its initial content if it is new. Fails if there is
  // one of this name but of another type or with another initial content.
  // REQUIRES: the mutex is held
  StatusOr<char*> find_or_add(const schema::State& state, const TensorType& type, Weights& weights);

 private:
  struct Content {
    TensorType type;
    std::string initial; // tells initial contents apart
    Buffer buffer;
  };

  Mutex<LockLevel::States> mutex_;
  std::map<std::string, Content> contents_;
};

} // namespace executorch::backends::et_xnnpack
