// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Arguments of a call before there is memory for them, changed in all ways, and what should become of the call: worked out
// here once more, by other means than in the runtime.

#include "choices.h"
#include "delegate.h"

namespace executorch::backends::et_xnnpack::testing {

constexpr double kMaxElements = 1 << 16; // of a tensor that has memory

enum class Verdict { Good, Bad, Either };

struct Argument {
  enum class Kind { Tensor, Integer, Double, Bool, None, Text, Absent };

  bool is_permutation() const;
  double elements() const;
  // As long as `sizes`; entries may be missing in `order`.
  std::vector<int32_t> strides() const;
  std::string describe() const;

  Kind kind = Kind::Tensor;
  // All about a tensor is as ExecuTorch has it.
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> order;
  std::vector<std::pair<size_t, int32_t>> other_strides; // axis and stride
  bool has_order = true, has_strides = true, has_data = true, has_zeros = true;
  TensorShapeDynamism dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
  int64_t integer = 1;
};

class ArgumentList {
 public:
  // Good arguments of the planned sizes, which `types` have.
  ArgumentList(const Blob& blob, const std::vector<TensorType>& types);

  void change(Choices& choices);

  const std::vector<Argument>& arguments() const {
    return arguments_;
  }
  bool is_input(size_t i) const {
    return i < blob_.num_inputs();
  }
  bool has_memory() const;

  // Good: must succeed, and outputs have the sizes results() then. Bad: must be refused.
  Verdict verdict();
  const std::vector<std::vector<int32_t>>& results() const {
    return results_;
  }

 private:
  size_t count() const {
    return blob_.num_inputs() + blob_.num_outputs();
  }
  uint32_t value_id(size_t i) const;
  const flatbuffers::Vector<uint8_t>* declared_order(size_t i) const;
  int64_t declared_size(size_t i, size_t axis) const;
  static void set_size(Argument& argument, size_t axis, int32_t size);
  void set_alike(size_t like, size_t axis, int32_t size);
  void change_list(Choices& choices);
  bool is_of_kind(const Argument& argument, size_t i) const;
  bool lies_as_declared(const Argument& argument, size_t i, const std::vector<int32_t>& sizes) const;
  Verdict verdict_of_output(size_t i, const Shape& shape);

  const Blob& blob_;
  std::vector<Argument> arguments_;
  std::vector<std::vector<int32_t>> results_; // as ExecuTorch has them
};

} // namespace executorch::backends::et_xnnpack::testing
