// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plan.h"

namespace executorch::backends::et_xnnpack {

// What decides who computes in Float16. `by node` and `by value` are those of the blob.
struct Float16Problem {
  const Blob& blob;
  Span<const TensorType> types; // by value
  const std::vector<uint32_t>& content; // by value, the one whose elements it has
  const std::vector<std::vector<uint32_t>>& units; // nodes that run as a whole
};

// Leaves Float16 to products, and to what is between or beside them: elsewhere converting costs more than it gains. Of
// `choices`, by node, those in Float16 that gain nothing by it become Float32.
void choose_float16(const Float16Problem& problem, std::vector<Choice>& choices);

// Whether this is a node in Float16.
bool is_in_float16(const std::vector<uint32_t>& unit, const std::vector<Choice>& choices);

// Adds the steps in Float16 to a plan, in the order of its units, and those that convert to it and back where the program
// does not do so itself: a step reads what a Cast widens and makes what one narrows to.
class Float16Steps {
 public:
  // `uncast`, by node, is what it reads instead of what a Cast makes of it. `results`, by value: whether it is needed outside
  // of steps. Roots and choices of `plan` are known.
  Float16Steps(
      const Float16Problem& problem,
      const std::vector<std::vector<uint32_t>>& uncast,
      const std::vector<bool>& results,
      Plan& plan);

  // By node: a Cast that nobody needs, because others read or make 16 bits themselves.
  const std::vector<bool>& idle() const {
    return is_idle_;
  }

  void add_step(uint32_t node);
  // Has a step before the next one that makes this value in Float32.
  void need_float32(uint32_t value);
  // After all units.
  void finish();

 private:
  void find_casts(const Float16Problem& problem);
  void find_idle(
      const Float16Problem& problem,
      const std::vector<std::vector<uint32_t>>& uncast,
      const std::vector<bool>& results);
  uint32_t need_float16(uint32_t value);
  uint32_t in_float16(uint32_t value);
  void convert(uint32_t from, uint32_t to);

  const Blob& blob_;
  const std::vector<uint32_t>& content_;
  Plan& plan_;
  std::vector<uint32_t> widened_from_; // by content: the Float16 that a Cast makes it of, or kNone
  std::vector<uint32_t> narrowed_to_; // by content, made in Float16: the Float16 that a Cast makes of it, or kNone
  std::vector<bool> is_idle_; // by node
  std::unordered_map<uint32_t, uint32_t> float16_; // by content: the value that has it in Float16
  std::vector<bool> has_float32_; // by content: whether a step has made it in Float32, if it is made
};

} // namespace executorch::backends::et_xnnpack
