// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runnable_step.h"

namespace executorch::backends::et_xnnpack {

// Where the memory of each value of a plan is: in arguments of the call, constants, states, or in the arena. What is said
// of a value counts for roots (Plan::root). Each wave (Waves) has an arena of its own, which is laid out when sizes in it
// are known.
class Placement {
 public:
  enum class Place : uint8_t { Nowhere, Constant, Input, Output, Arena, State };

  // An output whose value has its memory elsewhere: in an input, a constant, another output.
  struct CopyOut {
    uint32_t root;
    size_t output;
  };

  // A state whose new content has its memory elsewhere.
  struct Update {
    uint32_t root;
    uint32_t state; // value
  };

  Placement() = default;
  // `steps` are those of the plan, loaded.
  Placement(const Blob& blob, const Plan& plan, const std::vector<RunnableStep>& steps);

  Place place(uint32_t root) const {
    return places_[root];
  }
  // Outputs that steps write, and all others.
  const std::vector<size_t>& direct_outputs() const {
    return direct_outputs_;
  }
  const std::vector<CopyOut>& copies_out() const {
    return copies_out_;
  }
  // Of states that no step writes in place.
  const std::vector<Update>& updates() const {
    return updates_;
  }

  // When the size of a root is known.
  uint32_t wave(uint32_t root) const {
    return waves_[root];
  }
  // When output `i` has to be there: its sizes are known, and nobody has written it.
  uint32_t output_wave(size_t i) const {
    return output_waves_[i];
  }

  // Lays the arena of a wave out for values of these types and what steps need beside them, which are told where that is.
  void lay_out(
      const Plan& plan, const std::vector<TensorType>& types, std::vector<RunnableStep>& steps, uint32_t wave = 0);
  // Of the last layout of a wave.
  size_t arena_bytes(uint32_t wave) const {
    return arena_bytes_[wave];
  }
  size_t arena_bytes() const {
    return std::accumulate(arena_bytes_.begin(), arena_bytes_.end(), size_t{0});
  }
  // REQUIRES: its place is the arena
  size_t arena_offset(uint32_t root) const {
    return offsets_[root];
  }

 private:
  std::vector<Place> places_;
  std::vector<uint32_t> waves_, output_waves_;
  std::vector<size_t> direct_outputs_;
  std::vector<CopyOut> copies_out_;
  std::vector<Update> updates_;
  std::vector<size_t> offsets_;
  std::vector<size_t> arena_bytes_; // by wave
};

} // namespace executorch::backends::et_xnnpack
