// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fused_elementwise.h"
#include "runtime/kernels/common/parallel.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlock = 1024; // elements; some operands of that many fit the cache
constexpr size_t kGrain = 16384; // elements that one thread takes at least, over all nodes
constexpr size_t kShortRow = 512; // elements; shorter rows are put together first

template <typename T>
void fill(char* to, const char* from, size_t count) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  std::fill_n(reinterpret_cast<T*>(to), count, value);
}

void fill(char* to, const char* from, size_t count, size_t element_size) {
  switch (element_size) {
    case 1:
      return fill<uint8_t>(to, from, count);
    case 2:
      return fill<uint16_t>(to, from, count);
    case 4:
      return fill<uint32_t>(to, from, count);
    default:
      return fill<uint64_t>(to, from, count);
  }
}

} // namespace

FusedElementwise::FusedElementwise(std::vector<Node> nodes, Span<const uint32_t> inputs, Span<const uint32_t> outputs)
    : input_values_(inputs.begin(), inputs.end()), output_values_(outputs.begin(), outputs.end()) {
  std::unordered_map<uint32_t, Place> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    places.insert({inputs[i], {Place::Kind::Input, i}});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    places.insert({outputs[i], {Place::Kind::Output, i}});
  }
  std::unordered_map<uint32_t, size_t> last_read; // by value: the node
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const uint32_t id : nodes[n].operands) {
      last_read[id] = n;
    }
  }
  std::vector<size_t> free_slots;
  for (size_t n = 0; n < nodes.size(); ++n) {
    Instruction instruction{std::move(nodes[n].row), {}, {}};
    const auto found = places.find(nodes[n].result);
    if (found != places.end()) {
      instruction.result = found->second;
    } else {
      if (free_slots.empty()) {
        free_slots.push_back(num_slots_++);
      }
      instruction.result = {Place::Kind::Slot, free_slots.back()};
      free_slots.pop_back();
      places.insert({nodes[n].result, instruction.result});
    }
    for (const uint32_t id : nodes[n].operands) {
      instruction.operands.push_back(places.at(id));
    }
    // After the result has its slot: a row must not write what it reads.
    std::vector<uint32_t> read = nodes[n].operands;
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const uint32_t id : read) {
      if (places.at(id).kind == Place::Kind::Slot && last_read[id] == n) {
        free_slots.push_back(places.at(id).index);
      }
    }
    results_.push_back(nodes[n].result);
    instructions_.push_back(std::move(instruction));
  }
}

size_t FusedElementwise::reshape(Span<const TensorType> types, size_t num_threads) {
  const Shape& shape = types[results_.front()].shape;
  std::array<Shape, kMaxInputs> shapes{};
  input_sizes_.clear();
  output_sizes_.clear();
  dense_.clear();
  element_size_ = 1;
  for (size_t i = 0; i < input_values_.size(); ++i) {
    const TensorType& type = types[input_values_[i]];
    shapes[i] = type.shape;
    dense_.push_back(type.shape.numel() == shape.numel());
    input_sizes_.push_back(element_size(type.storage()));
    element_size_ = std::max(element_size_, input_sizes_.back());
  }
  for (const uint32_t id : output_values_) {
    output_sizes_.push_back(element_size(types[id].storage()));
  }
  for (const uint32_t id : results_) {
    element_size_ = std::max(element_size_, element_size(types[id].storage()));
  }
  broadcast_ = Broadcast<kMaxInputs>(shape, shapes);
  repeats_.clear();
  for (size_t i = 0; i < input_values_.size(); ++i) {
    repeats_.push_back(shapes[i].numel() == (broadcast_.moves(i) ? broadcast_.row_size() : 1));
  }
  const bool short_rows = broadcast_.row_size() < kShortRow;
  thread_bytes_ = (num_slots_ + (short_rows ? input_values_.size() : 0)) * kBlock * element_size_;
  return thread_bytes_ * std::max<size_t>(num_threads, 1);
}

void FusedElementwise::run(const KernelArguments& arguments) const {
  if (broadcast_.row_size() < kShortRow && broadcast_.rows() > 1) {
    run_short_rows(arguments);
  } else {
    run_rows(arguments);
  }
}

// The elements [first, first + count) of the result.
void FusedElementwise::compute(
    const KernelArguments& arguments, const RowOperand* inputs, size_t first, size_t count, char* scratch) const {
  const auto slot = [&](size_t index) { return scratch + index * kBlock * element_size_; };
  const auto output = [&](size_t index) { return arguments.output<char>(index) + first * output_sizes_[index]; };
  RowOperand operands[kMaxInputs];
  for (const Instruction& instruction : instructions_) {
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const Place& place = instruction.operands[k];
      switch (place.kind) {
        case Place::Kind::Input:
          operands[k] = inputs[place.index];
          break;
        case Place::Kind::Output:
          operands[k] = {output(place.index), true};
          break;
        case Place::Kind::Slot:
          operands[k] = {slot(place.index), true};
          break;
      }
    }
    const Place& result = instruction.result;
    instruction.row->run(
        operands, result.kind == Place::Kind::Output ? output(result.index) : slot(result.index), count);
  }
}

// Calls function(begin, end, scratch) for ranges of `parts` parts of `part_size` elements.
template <typename Function>
void FusedElementwise::for_parts(
    const KernelArguments& arguments, size_t parts, size_t part_size, const Function& function) const {
  const size_t work = part_size * instructions_.size();
  const size_t grain = std::max<size_t>(1, kGrain / std::max<size_t>(work, 1));
  parallel_for_with_thread(arguments.pool, (parts + grain - 1) / grain, [&](size_t thread, size_t i) {
    char* scratch = static_cast<char*>(arguments.scratch) + thread * thread_bytes_;
    function(i * grain, std::min(parts, (i + 1) * grain), scratch);
  });
}

void FusedElementwise::run_rows(const KernelArguments& arguments) const {
  const size_t size = broadcast_.row_size();
  const size_t pieces = (size + kBlock - 1) / kBlock;
  const size_t part_size = std::min(size, kBlock);
  for_parts(arguments, broadcast_.rows() * pieces, part_size, [&](size_t begin, size_t end, char* scratch) {
    for (size_t part = begin; part < end; ++part) {
      const size_t row = part / pieces;
      const size_t at = part % pieces * kBlock;
      RowOperand inputs[kMaxInputs];
      for (size_t k = 0; k < input_values_.size(); ++k) {
        const bool moves = broadcast_.moves(k);
        const size_t offset = broadcast_.offset(k, row) + (moves ? at : 0);
        inputs[k] = {arguments.input<char>(k) + offset * input_sizes_[k], moves};
      }
      compute(arguments, inputs, row * size + at, std::min(kBlock, size - at), scratch);
    }
  });
}

void FusedElementwise::run_short_rows(const KernelArguments& arguments) const {
  const size_t size = broadcast_.row_size(), rows = broadcast_.rows();
  const size_t block = kBlock / size;
  for_parts(arguments, (rows + block - 1) / block, block * size, [&](size_t begin, size_t end, char* scratch) {
    RowOperand inputs[kMaxInputs];
    const auto gathered = [&](size_t k) { return scratch + (num_slots_ + k) * kBlock * element_size_; };
    for (size_t k = 0; k < input_values_.size(); ++k) {
      if (repeats_[k] && !dense_[k]) {
        gather(arguments.input<char>(k), k, 0, std::min(block, rows), gathered(k));
      }
      inputs[k] = {gathered(k), true};
    }
    for (size_t part = begin; part < end; ++part) {
      const size_t row = part * block;
      const size_t count = std::min(block, rows - row);
      for (size_t k = 0; k < input_values_.size(); ++k) {
        if (dense_[k]) {
          inputs[k].data = arguments.input<char>(k) + row * size * input_sizes_[k];
        } else if (!repeats_[k]) {
          gather(arguments.input<char>(k), k, row, count, gathered(k));
        }
      }
      compute(arguments, inputs, row * size, count * size, scratch);
    }
  });
}

// Input `input` as the rows [row, row + rows) of the result read it.
void FusedElementwise::gather(const char* from, size_t input, size_t row, size_t rows, char* to) const {
  const size_t size = broadcast_.row_size(), element = input_sizes_[input];
  for (size_t r = 0; r < rows; ++r, to += size * element) {
    const char* source = from + broadcast_.offset(input, row + r) * element;
    if (broadcast_.moves(input)) {
      std::memcpy(to, source, size * element);
    } else {
      fill(to, source, size, element);
    }
  }
}

} // namespace executorch::backends::et_xnnpack
