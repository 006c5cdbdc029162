// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "scatter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/common/with_type.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 65536; // bytes

// An element of Bool: any byte but 0 is true, which a bool of C++ could not hold.
struct Truth {
  uint8_t byte;

  explicit operator bool() const {
    return byte != 0;
  }
};

template <UpdateFunction kFunction, typename T>
T updated(T old, T value) {
  if constexpr (kFunction == UpdateFunction::Assign) {
    return value;
  } else if constexpr (std::is_same_v<T, Truth>) {
    constexpr bool kEither = kFunction == UpdateFunction::Add || kFunction == UpdateFunction::Maximum;
    return {static_cast<uint8_t>(kEither ? old || value : old && value)};
  } else if constexpr (
      std::is_integral_v<T> && (kFunction == UpdateFunction::Add || kFunction == UpdateFunction::Multiply)) {
    using Unsigned = std::make_unsigned_t<T>; // wraps around
    const Unsigned a = static_cast<Unsigned>(old), b = static_cast<Unsigned>(value);
    return static_cast<T>(kFunction == UpdateFunction::Add ? a + b : a * b);
  } else if constexpr (kFunction == UpdateFunction::Add) {
    return old + value;
  } else if constexpr (kFunction == UpdateFunction::Multiply) {
    return old * value;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(old) || std::isnan(value)) {
        return std::isnan(old) ? old : value;
      }
    }
    return kFunction == UpdateFunction::Minimum ? std::min(old, value) : std::max(old, value);
  }
}

template <UpdateFunction kFunction, typename T>
void update_row(char* y, const char* values, size_t count) {
  T* const to = reinterpret_cast<T*>(y);
  const T* const from = reinterpret_cast<const T*>(values);
  for (size_t i = 0; i < count; ++i) {
    to[i] = updated<kFunction>(to[i], from[i]);
  }
}

template <UpdateFunction kFunction, typename T>
void update_each(char* y, const size_t* positions, const char* values, size_t count) {
  T* const to = reinterpret_cast<T*>(y);
  const T* const from = reinterpret_cast<const T*>(values);
  for (size_t i = 0; i < count; ++i) {
    T& element = to[positions[i]];
    element = updated<kFunction>(element, from[i]);
  }
}

struct UpdateLoops {
  // Of `count` neighbouring elements.
  void (*row)(char* y, const char* values, size_t count);
  // Of the elements at `count` positions.
  void (*each)(char* y, const size_t* positions, const char* values, size_t count);
};

template <UpdateFunction kFunction, typename T>
constexpr UpdateLoops kUpdate{update_row<kFunction, T>, update_each<kFunction, T>};

template <UpdateFunction kFunction>
UpdateLoops update_of(DType dtype) {
  if (dtype == DType::Bool) {
    return kUpdate<kFunction, Truth>;
  }
  if (is_reduced_float(dtype)) {
    return {}; // are assigned only
  }
  return with_type(dtype, [](auto zero) -> UpdateLoops { return kUpdate<kFunction, decltype(zero)>; });
}

// Whatever has so many bytes is assigned in the same way.
UpdateLoops assignment_of(size_t element_size) {
  switch (element_size) {
    case 1:
      return kUpdate<UpdateFunction::Assign, uint8_t>;
    case 2:
      return kUpdate<UpdateFunction::Assign, uint16_t>;
    case 4:
      return kUpdate<UpdateFunction::Assign, uint32_t>;
    default:
      return kUpdate<UpdateFunction::Assign, uint64_t>;
  }
}

UpdateLoops update_of(UpdateFunction function, DType dtype) {
  switch (function) {
    case UpdateFunction::Assign:
      return assignment_of(element_size(dtype));
    case UpdateFunction::Add:
      return update_of<UpdateFunction::Add>(dtype);
    case UpdateFunction::Multiply:
      return update_of<UpdateFunction::Multiply>(dtype);
    case UpdateFunction::Minimum:
      return update_of<UpdateFunction::Minimum>(dtype);
    case UpdateFunction::Maximum:
      return update_of<UpdateFunction::Maximum>(dtype);
  }
  return {};
}

void copy(const void* from, void* to, size_t bytes, pthreadpool_t pool) {
  parallel_for(pool, bytes, kGrain, [&](size_t begin, size_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
  });
}

bool is_in_place(const KernelArguments& arguments) {
  return arguments.inputs[0] == arguments.outputs[0];
}

} // namespace

size_t BlockUpdate::set(UpdateFunction function, DType dtype, size_t outer, size_t part, size_t count, size_t block) {
  element_size_ = element_size(dtype);
  const UpdateLoops loops = update_of(function, dtype);
  update_row_ = loops.row;
  update_each_ = loops.each;
  assigns_ = function == UpdateFunction::Assign;
  outer_ = outer;
  part_bytes_ = part * element_size_;
  count_ = count;
  block_bytes_ = block * element_size_;
  return count * sizeof(size_t);
}

template <typename Function>
void BlockUpdate::for_each_block(const size_t* positions, const Function& function) const {
  for (size_t part = 0; part < outer_; ++part) {
    for (size_t i = 0; i < count_; ++i) {
      function(part * part_bytes_ + positions[i] * block_bytes_);
    }
  }
}

char* BlockUpdate::saved_blocks(const KernelArguments& arguments) const {
  return static_cast<char*>(arguments.undo) + round_up_to_alignment(count_ * sizeof(size_t));
}

void BlockUpdate::run(const KernelArguments& arguments) const {
  const bool undoable = arguments.undo != nullptr && is_in_place(arguments);
  size_t* const positions = static_cast<size_t*>(undoable ? arguments.undo : arguments.scratch);
  *arguments.status = find(arguments, positions);
  if (!arguments.status->ok()) {
    return;
  }
  char* const y = arguments.output<char>(0);
  if (!is_in_place(arguments)) {
    copy(arguments.inputs[0], y, outer_ * part_bytes_, arguments.pool);
  }
  if (undoable) {
    char* saved = saved_blocks(arguments);
    for_each_block(positions, [&](size_t offset) {
      std::memcpy(saved, y + offset, block_bytes_);
      saved += block_bytes_;
    });
  }
  update(arguments, positions);
}

size_t BlockUpdate::undo_bytes() const {
  return round_up_to_alignment(count_ * sizeof(size_t)) + outer_ * count_ * block_bytes_;
}

void BlockUpdate::undo(const KernelArguments& arguments) const {
  char* const y = arguments.output<char>(0);
  const char* saved = saved_blocks(arguments);
  for_each_block(static_cast<const size_t*>(arguments.undo), [&](size_t offset) {
    std::memcpy(y + offset, saved, block_bytes_);
    saved += block_bytes_;
  });
}

// Several values for one place are in one task, so they come in order.
void BlockUpdate::update(const KernelArguments& arguments, const size_t* positions) const {
  if (count_ == 0 || block_bytes_ == 0) {
    return;
  }
  const size_t whole = kGrain / (count_ * block_bytes_) + 1; // parts in a task
  const size_t columns =
      std::clamp<size_t>(kGrain / count_ / kAlignment * kAlignment, kAlignment, round_up_to_alignment(block_bytes_));
  const size_t pieces = divide_up(block_bytes_, columns);
  parallel_for(arguments.pool, outer_ * pieces, pieces == 1 ? whole : 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % pieces * columns;
      update_part(arguments, positions, i / pieces, first, std::min(columns, block_bytes_ - first));
    }
  });
}

// Bytes [first, first + bytes) of all blocks of a part.
void BlockUpdate::update_part(
    const KernelArguments& arguments, const size_t* positions, size_t part, size_t first, size_t bytes) const {
  char* const y = arguments.output<char>(0) + part * part_bytes_ + first;
  const char* values = arguments.input<char>(1) + part * count_ * block_bytes_ + first;
  if (block_bytes_ == element_size_) {
    return update_each_(y, positions, values, count_);
  }
  for (size_t i = 0; i < count_; ++i, values += block_bytes_) {
    char* const to = y + positions[i] * block_bytes_;
    if (assigns_) {
      std::memcpy(to, values, bytes);
    } else {
      update_row_(to, values, bytes / element_size_);
    }
  }
}

size_t IndexPut::reshape(const IndexPutParameters& parameters, size_t) {
  const Shape& x = parameters.x;
  const size_t axis = parameters.axis, last = axis + parameters.indices.size();
  positions_.reshape(x, parameters.indices, 2, axis, parameters.wrap);
  return set(
      parameters.function,
      parameters.dtype,
      x.numel(0, axis),
      x.numel(axis, x.rank),
      positions_.count(),
      x.numel(last, x.rank));
}

Status IndexPut::find(const KernelArguments& arguments, size_t* positions) const {
  return positions_.find(arguments, positions);
}

size_t Scatter::reshape(const ScatterParameters& parameters, size_t) {
  positions_.reshape(parameters.x, parameters.index, 2, parameters.axis);
  return set(parameters.function, parameters.dtype, 1, parameters.x.numel(), positions_.count(), 1);
}

Status Scatter::find(const KernelArguments& arguments, size_t* positions) const {
  return positions_.find(arguments, positions);
}

size_t SliceScatter::reshape(const SliceScatterParameters& parameters, size_t) {
  const Strides dense = dense_strides(parameters.x);
  CopyBox box;
  box.shape = parameters.values;
  box.from = dense_strides(box.shape);
  for (size_t axis = 0; axis < box.shape.rank; ++axis) {
    box.to[axis] = dense[axis] * parameters.step[axis];
    box.to_offset += dense[axis] * parameters.start[axis];
  }
  CopyBox back = box;
  std::swap(back.from, back.to);
  std::swap(back.from_offset, back.to_offset);
  write_.emplace(box, parameters.element_size);
  save_.emplace(back, parameters.element_size);
  bytes_ = parameters.x.numel() * parameters.element_size;
  saved_bytes_ = parameters.values.numel() * parameters.element_size;
  return 0;
}

void SliceScatter::run(const KernelArguments& arguments) const {
  void* const y = arguments.outputs[0];
  if (!is_in_place(arguments)) {
    copy(arguments.inputs[0], y, bytes_, arguments.pool);
  } else if (arguments.undo != nullptr) {
    save_->run(y, arguments.undo, arguments.pool);
  }
  write_->run(arguments.inputs[1], y, arguments.pool);
}

size_t SliceScatter::undo_bytes() const {
  return saved_bytes_;
}

void SliceScatter::undo(const KernelArguments& arguments) const {
  write_->run(arguments.undo, arguments.outputs[0], arguments.pool);
}

size_t MaskedScatter::reshape(const MaskedScatterParameters& parameters, size_t) {
  parameters_ = parameters;
  return 0;
}

void MaskedScatter::run(const KernelArguments& arguments) const {
  const auto* const mask = arguments.input<Truth>(1);
  const auto needed = static_cast<size_t>(
      std::count_if(mask, mask + parameters_.count, [](Truth truth) { return static_cast<bool>(truth); }));
  if (needed > parameters_.available) {
    *arguments.status = failure(
        Error::InvalidArgument,
        "the mask holds for %zu elements, but there are only %zu values",
        needed,
        parameters_.available);
    return;
  }
  char* const y = arguments.output<char>(0);
  const char* values = arguments.input<char>(2);
  copy(arguments.inputs[0], y, parameters_.count * parameters_.element_size, arguments.pool);
  for (size_t i = 0; i < parameters_.count; ++i) {
    if (mask[i]) {
      std::memcpy(y + i * parameters_.element_size, values, parameters_.element_size);
      values += parameters_.element_size;
    }
  }
}

} // namespace executorch::backends::et_xnnpack
