// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "runtime/program/tensor_type.h"
#include "runtime/kernels/common/broadcast.h"
#include "runtime/kernels/common/arguments.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// Several elementwise nodes whose results have the same shape, in one pass over memory: a block
// of elements that stays in the cache goes through all of them before the next one is read.
class FusedElementwise {
 public:
  // The most tensors that one pass reads.
  static constexpr size_t kMaxInputs = 12;

  struct Node {
    std::unique_ptr<Row> row;
    // Graph values. An operand is an input of the pass or the result of a node before this one.
    std::vector<uint32_t> operands;
    uint32_t result;
  };

  // `inputs` and `outputs` are graph values, in the order of KernelArguments.
  // REQUIRES: at most kMaxInputs inputs
  FusedElementwise(std::vector<Node> nodes, Span<const uint32_t> inputs, Span<const uint32_t> outputs);

  // Takes over new sizes; `types` are those of all values of the graph. Returns the bytes of
  // scratch memory that run() needs.
  size_t reshape(Span<const TensorType> types, size_t num_threads);

  void run(const KernelArguments& arguments) const;

 private:
  // Where an operand or a result is.
  struct Place {
    enum class Kind : uint8_t { Input, Output, Slot } kind;
    size_t index;
  };
  struct Instruction {
    std::unique_ptr<Row> row;
    std::vector<Place> operands;
    Place result;
  };

  void compute(
      const KernelArguments& arguments, const RowOperand* inputs, size_t first, size_t count, char* scratch) const;
  void run_rows(const KernelArguments& arguments) const;
  void run_short_rows(const KernelArguments& arguments) const;
  void gather(const char* from, size_t input, size_t row, size_t rows, char* to) const;
  template <typename Function>
  void for_parts(const KernelArguments& arguments, size_t parts, size_t part_size, const Function& function) const;

  std::vector<Instruction> instructions_;
  std::vector<uint32_t> input_values_, output_values_, results_;
  size_t num_slots_ = 0;

  Broadcast<kMaxInputs> broadcast_;
  std::vector<size_t> input_sizes_, output_sizes_; // bytes of an element
  std::vector<bool> dense_; // by input: has all elements of the result
  std::vector<bool> repeats_; // by input: is the same for all rows
  size_t element_size_ = 0; // the largest of all
  size_t thread_bytes_ = 0; // of scratch memory
};

} // namespace executorch::backends::et_xnnpack
