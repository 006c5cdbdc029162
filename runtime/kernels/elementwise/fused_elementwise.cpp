// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fused_elementwise.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlock = 1024; // elements; some operands of that many fit the cache
constexpr size_t kGrain = 16384; // elements that one thread takes at least, over all nodes
constexpr size_t kShortRow = 512; // elements; shorter rows are put together first
// One node alone has nothing to keep in the cache, and calls are cheaper than copies of other rows for each block.
constexpr size_t kShortRowAlone = 32;

// Calls function(T()) with an integer of that many bytes.
template <typename Function>
void with_size(size_t element_size, const Function& function) {
  switch (element_size) {
    case 1:
      return function(uint8_t());
    case 2:
      return function(uint16_t());
    case 4:
      return function(uint32_t());
    default:
      return function(uint64_t());
  }
}

void fill(char* to, const char* from, size_t count, size_t element_size) {
  with_size(element_size, [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    std::fill_n(reinterpret_cast<decltype(value)*>(to), count, value);
  });
}

} // namespace

FusedElementwise::FusedElementwise(std::vector<Node> nodes, Span<const Value> inputs, Span<const uint32_t> outputs)
    : output_sizes_(outputs.size()) {
  std::unordered_map<uint32_t, Location> locations;
  for (size_t i = 0; i < inputs.size(); ++i) {
    locations.insert({inputs[i].id, {Location::Kind::Input, i}});
    input_sizes_.push_back(inputs[i].element_size);
    element_size_ = std::max(element_size_, inputs[i].element_size);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    locations.insert({outputs[i], {Location::Kind::Output, i}});
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
    const Value& result = nodes[n].result;
    element_size_ = std::max(element_size_, result.element_size);
    const auto found = locations.find(result.id);
    if (found != locations.end()) {
      instruction.result = found->second;
      output_sizes_[found->second.index] = result.element_size;
    } else {
      if (free_slots.empty()) {
        free_slots.push_back(num_slots_++);
      }
      instruction.result = {Location::Kind::Slot, free_slots.back()};
      free_slots.pop_back();
      locations.insert({result.id, instruction.result});
    }
    for (const uint32_t id : nodes[n].operands) {
      instruction.operands.push_back(locations.at(id));
    }
    // Slots of operands are given back only now that the result has its own: a row must not write what it reads.
    std::vector<uint32_t> read = nodes[n].operands;
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const uint32_t id : read) {
      if (locations.at(id).kind == Location::Kind::Slot && last_read[id] == n) {
        free_slots.push_back(locations.at(id).index);
      }
    }
    instructions_.push_back(std::move(instruction));
  }
  is_one_row_ = instructions_.size() == 1 && num_slots_ == 0;
  for (size_t k = 0; is_one_row_ && k < instructions_.front().operands.size(); ++k) {
    is_one_row_ = instructions_.front().operands[k].index == k;
  }
}

size_t FusedElementwise::reshape(Span<const Shape> inputs, const Shape& result, size_t num_threads) {
  std::array<Shape, kMaxInputs> shapes{};
  std::copy(inputs.begin(), inputs.end(), shapes.begin());
  broadcast_ = Broadcast<kMaxInputs>(result, shapes);
  dense_.clear();
  repeats_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    dense_.push_back(shapes[i].numel() == result.numel());
    repeats_.push_back(shapes[i].numel() == (broadcast_.moves(i) ? broadcast_.row_size() : 1));
  }
  const size_t size = broadcast_.row_size(), rows = broadcast_.rows();
  max_part_ = is_one_row_ ? kGrain : kBlock;
  if (size * rows == 0) {
    parts_ = Parts::None;
  } else if (rows == 1 && size <= max_part_) {
    parts_ = Parts::Whole;
  } else if (size > max_part_) {
    parts_ = Parts::PiecesOfRows;
  } else {
    bool copies = false;
    for (size_t k = 0; k < inputs.size(); ++k) {
      copies = copies || (!dense_[k] && !repeats_[k]);
    }
    parts_ = size < (is_one_row_ && copies ? kShortRowAlone : kShortRow) ? Parts::GatheredRows : Parts::Rows;
  }
  thread_bytes_ = (num_slots_ + (parts_ == Parts::GatheredRows ? inputs.size() : 0)) * kBlock * element_size_;
  return thread_bytes_ * std::max<size_t>(num_threads, 1);
}

void FusedElementwise::run(const KernelArguments& arguments) const {
  switch (parts_) {
    case Parts::None:
      return;
    case Parts::Whole:
      run_whole(arguments);
      break;
    case Parts::PiecesOfRows:
      run_pieces_of_rows(arguments);
      break;
    case Parts::Rows:
      run_rows(arguments);
      break;
    case Parts::GatheredRows:
      run_gathered_rows(arguments);
      break;
  }
  take_failures(arguments);
}

void FusedElementwise::take_failures(const KernelArguments& arguments) const {
  for (const Instruction& instruction : instructions_) {
    if (const char* const why = instruction.row->take_failure(); why != nullptr) {
      *arguments.status = Status(Error::InvalidArgument, why);
    }
  }
}

// The elements [first, first + count) of the result.
void FusedElementwise::compute(
    const KernelArguments& arguments, const RowOperand* inputs, size_t first, size_t count, char* scratch) const {
  const auto slot = [&](size_t index) { return scratch + index * kBlock * element_size_; };
  const auto output = [&](size_t index) { return arguments.output<char>(index) + first * output_sizes_[index]; };
  if (is_one_row_) {
    return instructions_.front().row->run(inputs, output(0), count);
  }
  RowOperand operands[kMaxInputs];
  for (const Instruction& instruction : instructions_) {
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const Location& location = instruction.operands[k];
      switch (location.kind) {
        case Location::Kind::Input:
          operands[k] = inputs[location.index];
          break;
        case Location::Kind::Output:
          operands[k] = {output(location.index), true};
          break;
        case Location::Kind::Slot:
          operands[k] = {slot(location.index), true};
          break;
      }
    }
    const Location& result = instruction.result;
    instruction.row->run(
        operands, result.kind == Location::Kind::Output ? output(result.index) : slot(result.index), count);
  }
}

// Calls function(begin, end, scratch) for ranges of `parts` parts of `part_size` elements.
template <typename Function>
void FusedElementwise::for_parts(
    const KernelArguments& arguments, size_t parts, size_t part_size, const Function& function) const {
  const size_t work = part_size * instructions_.size();
  const size_t grain = std::max<size_t>(1, kGrain / std::max<size_t>(work, 1));
  parallel_for_with_thread(arguments.pool, divide_up(parts, grain), [&](size_t thread, size_t i) {
    char* scratch = static_cast<char*>(arguments.scratch) + thread * thread_bytes_;
    function(i * grain, std::min(parts, (i + 1) * grain), scratch);
  });
}

// The inputs from row `row` of the result on.
void FusedElementwise::read_row(const KernelArguments& arguments, size_t row, RowOperand* inputs) const {
  for (size_t k = 0; k < input_sizes_.size(); ++k) {
    inputs[k] = {arguments.input<char>(k) + broadcast_.offset(k, row) * input_sizes_[k], broadcast_.moves(k)};
  }
}

void FusedElementwise::run_whole(const KernelArguments& arguments) const {
  RowOperand inputs[kMaxInputs];
  for (size_t k = 0; k < input_sizes_.size(); ++k) {
    inputs[k] = {arguments.inputs[k], broadcast_.moves(k)};
  }
  compute(arguments, inputs, 0, broadcast_.row_size(), static_cast<char*>(arguments.scratch));
}

void FusedElementwise::run_pieces_of_rows(const KernelArguments& arguments) const {
  const size_t size = broadcast_.row_size();
  const size_t pieces = divide_up(size, max_part_);
  for_parts(arguments, broadcast_.rows() * pieces, max_part_, [&](size_t begin, size_t end, char* scratch) {
    for (size_t part = begin; part < end; ++part) {
      const size_t row = part / pieces, at = part % pieces * max_part_;
      RowOperand inputs[kMaxInputs];
      read_row(arguments, row, inputs);
      for (size_t k = 0; k < input_sizes_.size(); ++k) {
        inputs[k].data = static_cast<const char*>(inputs[k].data) + (inputs[k].moves ? at * input_sizes_[k] : 0);
      }
      compute(arguments, inputs, row * size + at, std::min(max_part_, size - at), scratch);
    }
  });
}

void FusedElementwise::run_rows(const KernelArguments& arguments) const {
  const size_t size = broadcast_.row_size(), num_inputs = input_sizes_.size();
  for_parts(arguments, broadcast_.rows(), size, [&](size_t begin, size_t end, char* scratch) {
    RowOperand inputs[kMaxInputs];
    for (size_t row = begin; row < end;) {
      read_row(arguments, row, inputs);
      for (const size_t stop = std::min(end, row + broadcast_.even_rows(row)); row < stop; ++row) {
        compute(arguments, inputs, row * size, size, scratch);
        for (size_t k = 0; k < num_inputs; ++k) {
          inputs[k].data = static_cast<const char*>(inputs[k].data) + broadcast_.row_stride(k) * input_sizes_[k];
        }
      }
    }
  });
}

void FusedElementwise::run_gathered_rows(const KernelArguments& arguments) const {
  const size_t size = broadcast_.row_size(), rows = broadcast_.rows();
  const size_t block = kBlock / size;
  for_parts(arguments, divide_up(rows, block), block * size, [&](size_t begin, size_t end, char* scratch) {
    RowOperand inputs[kMaxInputs];
    const auto gathered = [&](size_t k) { return scratch + (num_slots_ + k) * kBlock * element_size_; };
    for (size_t k = 0; k < input_sizes_.size(); ++k) {
      if (is_repeated(k)) {
        repeat(arguments.input<char>(k), k, std::min(block, rows), gathered(k));
      }
      inputs[k] = {gathered(k), true};
    }
    for (size_t part = begin; part < end; ++part) {
      const size_t row = part * block;
      const size_t count = std::min(block, rows - row);
      for (size_t k = 0; k < input_sizes_.size(); ++k) {
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

// Of scratch memory: the repeated inputs, and then what each thread needs.
size_t FusedElementwise::parts_bytes(size_t num_threads) const {
  return input_sizes_.size() * kBlock * element_size_ + thread_bytes_ * std::max<size_t>(num_threads, 1);
}

void FusedElementwise::begin_parts(const KernelArguments& arguments) const {
  if (parts_ != Parts::GatheredRows) {
    return;
  }
  for (size_t k = 0; k < input_sizes_.size(); ++k) {
    if (is_repeated(k)) {
      char* const repeated = static_cast<char*>(arguments.scratch) + k * kBlock * element_size_;
      repeat(arguments.input<char>(k), k, kBlock / broadcast_.row_size(), repeated);
    }
  }
}

void FusedElementwise::run_part(
    const KernelArguments& arguments, size_t thread, size_t first, size_t count, size_t streamed, const void* elements)
    const {
  const size_t size = broadcast_.row_size(), slot = kBlock * element_size_;
  char* const repeated = static_cast<char*>(arguments.scratch);
  char* const scratch = repeated + input_sizes_.size() * slot + thread * thread_bytes_;
  const size_t begin = first, end = first + count;
  RowOperand inputs[kMaxInputs];
  while (first < end) {
    const size_t row = first / size, at = first % size, left = end - first;
    const bool gathers = parts_ == Parts::GatheredRows && at == 0 && left >= size;
    const size_t rows = gathers ? std::min(kBlock, left) / size : 1;
    const size_t part = gathers ? rows * size : std::min({size - at, left, kBlock});
    for (size_t k = 0; k < input_sizes_.size(); ++k) {
      const size_t element = input_sizes_[k];
      if (k == streamed) {
        inputs[k] = {static_cast<const char*>(elements) + (first - begin) * element, true};
      } else if (!gathers) {
        const size_t offset = broadcast_.offset(k, row) + (broadcast_.moves(k) ? at : 0);
        inputs[k] = {arguments.input<char>(k) + offset * element, broadcast_.moves(k)};
      } else if (dense_[k]) {
        inputs[k] = {arguments.input<char>(k) + first * element, true};
      } else if (is_repeated(k)) {
        inputs[k] = {repeated + k * slot, true};
      } else {
        char* const gathered = scratch + (num_slots_ + k) * slot;
        gather(arguments.input<char>(k), k, row, rows, gathered);
        inputs[k] = {gathered, true};
      }
    }
    compute(arguments, inputs, first, part, scratch);
    first += part;
  }
}

void FusedElementwise::end_parts(const KernelArguments& arguments) const {
  take_failures(arguments);
}

// Input `input` as the rows [row, row + rows) of the result read it.
void FusedElementwise::gather(const char* from, size_t input, size_t row, size_t rows, char* to) const {
  const size_t size = broadcast_.row_size(), stride = broadcast_.row_stride(input), last = row + rows;
  with_size(input_sizes_[input], [&](auto zero) {
    using T = decltype(zero);
    T* target = reinterpret_cast<T*>(to);
    while (row < last) {
      const T* source = reinterpret_cast<const T*>(from) + broadcast_.offset(input, row);
      for (const size_t stop = std::min(last, row + broadcast_.even_rows(row)); row < stop; ++row) {
        if (broadcast_.moves(input)) {
          std::copy_n(source, size, target);
        } else {
          std::fill_n(target, size, *source);
        }
        target += size;
        source += stride;
      }
    }
  });
}

// The same for an input that is the same for all rows.
void FusedElementwise::repeat(const char* from, size_t input, size_t rows, char* to) const {
  const size_t element = input_sizes_[input];
  if (!broadcast_.moves(input)) {
    fill(to, from, rows * broadcast_.row_size(), element);
    return;
  }
  const size_t bytes = broadcast_.row_size() * element, all = rows * bytes;
  std::memcpy(to, from, bytes);
  for (size_t done = bytes; done < all; done *= 2) {
    std::memcpy(to + done, to, std::min(done, all - done));
  }
}

} // namespace executorch::backends::et_xnnpack
