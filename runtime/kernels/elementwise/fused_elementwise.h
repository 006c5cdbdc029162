// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/broadcast.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// One elementwise node; or several whose results have the same shape, in one pass over memory: a block
// of elements that stays in the cache goes through all of them before the next one is read.
// Operands are broadcast here and nowhere else.
class FusedElementwise {
 public:
  // The most tensors that one pass reads.
  static constexpr size_t kMaxInputs = 12;

  // Values go by numbers of the caller's choice.
  struct Value {
    uint32_t id;
    size_t element_size; // bytes: 1, 2, 4 or 8
  };
  struct Node {
    std::unique_ptr<Row> row;
    // An operand is an input of the pass or the result of a node before this one.
    std::vector<uint32_t> operands;
    Value result;
  };

  // `inputs` and `outputs`, which are results of nodes, are in the order of KernelArguments.
  // REQUIRES: a node; at most kMaxInputs inputs
  FusedElementwise(std::vector<Node> nodes, Span<const Value> inputs, Span<const uint32_t> outputs);

  // Takes over new sizes: those of the inputs, which broadcast to that of all results. Returns the bytes
  // of scratch memory that run() needs.
  size_t reshape(Span<const Shape> inputs, const Shape& result, size_t num_threads);

  // Fails, by the arguments' status, if a row does.
  void run(const KernelArguments& arguments) const;

  // The same by parts that somebody else cuts and orders, while it makes one of the inputs: run_part() for each, from
  // one or several threads of the pool, between begin_parts() and end_parts(). The arguments are the same each time;
  // their scratch memory has parts_bytes(), which is known after reshape().
  size_t parts_bytes(size_t num_threads) const;
  void begin_parts(const KernelArguments& arguments) const;
  // Elements [first, first + count) of the result, on thread `thread`, of which those of input `streamed` are at
  // `elements`. REQUIRES: that input has all elements of the result
  void run_part(
      const KernelArguments& arguments,
      size_t thread,
      size_t first,
      size_t count,
      size_t streamed,
      const void* elements) const;
  void end_parts(const KernelArguments& arguments) const;

 private:
  // Where an operand or a result is; a slot is a block of scratch memory.
  struct Location {
    enum class Kind : uint8_t { Input, Output, Slot } kind;
    size_t index;
  };
  struct Instruction {
    std::unique_ptr<Row> row;
    std::vector<Location> operands;
    Location result;
  };

  void compute(
      const KernelArguments& arguments, const RowOperand* inputs, size_t first, size_t count, char* scratch) const;
  void read_row(const KernelArguments& arguments, size_t row, RowOperand* inputs) const;
  void run_whole(const KernelArguments& arguments) const;
  void run_pieces_of_rows(const KernelArguments& arguments) const;
  void run_rows(const KernelArguments& arguments) const;
  void run_gathered_rows(const KernelArguments& arguments) const;
  void take_failures(const KernelArguments& arguments) const;
  bool is_repeated(size_t input) const {
    return repeats_[input] && !dense_[input];
  }
  void gather(const char* from, size_t input, size_t row, size_t rows, char* to) const;
  void repeat(const char* from, size_t input, size_t rows, char* to) const;
  template <typename Function>
  void for_parts(const KernelArguments& arguments, size_t parts, size_t part_size, const Function& function) const;

  std::vector<Instruction> instructions_;
  std::vector<size_t> input_sizes_, output_sizes_; // bytes of an element
  size_t element_size_ = 1; // the largest of all
  size_t num_slots_ = 0;
  bool is_one_row_ = false; // a single one, which reads the inputs in their order and writes the output

  Broadcast<kMaxInputs> broadcast_;
  std::vector<bool> dense_; // by input: has all elements of the result
  std::vector<bool> repeats_; // by input: is the same for all rows
  // How the result is cut into parts that go through all nodes.
  enum class Parts : uint8_t { None, Whole, PiecesOfRows, Rows, GatheredRows } parts_ = Parts::None;
  size_t max_part_ = 0; // elements
  size_t thread_bytes_ = 0; // of scratch memory
};

} // namespace executorch::backends::et_xnnpack
