// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "scatter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include "runtime/base/memory.h"
#include "runtime/ops/op.h"
#include "index_places.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 65536; // bytes

using schema::UpdateKind;

template <UpdateKind kKind, typename T>
T updated(T old, T value) {
  if constexpr (kKind == UpdateKind::Assign) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return kKind == UpdateKind::Add || kKind == UpdateKind::Maximum ? old || value : old && value;
  } else if constexpr (std::is_integral_v<T> && (kKind == UpdateKind::Add || kKind == UpdateKind::Multiply)) {
    using Unsigned = std::make_unsigned_t<T>; // wraps around
    const Unsigned a = static_cast<Unsigned>(old), b = static_cast<Unsigned>(value);
    return static_cast<T>(kKind == UpdateKind::Add ? a + b : a * b);
  } else if constexpr (kKind == UpdateKind::Add) {
    return old + value;
  } else if constexpr (kKind == UpdateKind::Multiply) {
    return old * value;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(old) || std::isnan(value)) {
        return std::isnan(old) ? old : value;
      }
    }
    return kKind == UpdateKind::Minimum ? std::min(old, value) : std::max(old, value);
  }
}

template <UpdateKind kKind, typename T>
void update_row(char* y, const char* values, size_t count) {
  T* const to = reinterpret_cast<T*>(y);
  const T* const from = reinterpret_cast<const T*>(values);
  for (size_t i = 0; i < count; ++i) {
    to[i] = updated<kKind>(to[i], from[i]);
  }
}

template <UpdateKind kKind, typename T>
void update_each(char* y, const size_t* places, const char* values, size_t count) {
  T* const to = reinterpret_cast<T*>(y);
  const T* const from = reinterpret_cast<const T*>(values);
  for (size_t i = 0; i < count; ++i) {
    T& element = to[places[i]];
    element = updated<kKind>(element, from[i]);
  }
}

struct Update {
  // Of `count` neighbouring elements.
  void (*row)(char* y, const char* values, size_t count);
  // Of the elements at `count` places.
  void (*each)(char* y, const size_t* places, const char* values, size_t count);
};

template <UpdateKind kKind, typename T>
constexpr Update kUpdate{update_row<kKind, T>, update_each<kKind, T>};

template <UpdateKind kKind>
Update update_of(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return kUpdate<kKind, float>;
    case DType::Int32:
      return kUpdate<kKind, int32_t>;
    case DType::Int64:
      return kUpdate<kKind, int64_t>;
    case DType::Bool:
      return kUpdate<kKind, bool>;
    case DType::Int8:
      return kUpdate<kKind, int8_t>;
    case DType::UInt8:
      return kUpdate<kKind, uint8_t>;
    case DType::Float16:
    case DType::BFloat16:
      break; // are assigned only
  }
  return {};
}

// Whatever has so many bytes is assigned in the same way.
Update assignment_of(size_t element_size) {
  switch (element_size) {
    case 1:
      return kUpdate<UpdateKind::Assign, uint8_t>;
    case 2:
      return kUpdate<UpdateKind::Assign, uint16_t>;
    case 4:
      return kUpdate<UpdateKind::Assign, uint32_t>;
    default:
      return kUpdate<UpdateKind::Assign, uint64_t>;
  }
}

Update update_of(UpdateKind kind, DType dtype) {
  switch (kind) {
    case UpdateKind::Assign:
      return assignment_of(element_size(dtype));
    case UpdateKind::Add:
      return update_of<UpdateKind::Add>(dtype);
    case UpdateKind::Multiply:
      return update_of<UpdateKind::Multiply>(dtype);
    case UpdateKind::Minimum:
      return update_of<UpdateKind::Minimum>(dtype);
    case UpdateKind::Maximum:
      return update_of<UpdateKind::Maximum>(dtype);
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

// Blocks of output 0, at places that are known when it runs, updated by the blocks of
// input 1: a column of `count` places for each of `outer` parts of the output.
class BlockUpdate : public Kernel {
 public:
  void run(const KernelArguments& arguments) override {
    const bool undoable = arguments.undo != nullptr && is_in_place(arguments);
    size_t* const places = static_cast<size_t*>(undoable ? arguments.undo : arguments.scratch);
    *arguments.status = find(arguments, places);
    if (!arguments.status->ok()) {
      return;
    }
    char* const y = arguments.output<char>(0);
    if (!is_in_place(arguments)) {
      copy(arguments.inputs[0], y, outer_ * part_bytes_, arguments.pool);
    }
    if (undoable) {
      char* saved = saved_blocks(arguments);
      for_each_block(places, [&](size_t offset) {
        std::memcpy(saved, y + offset, block_bytes_);
        saved += block_bytes_;
      });
    }
    update(arguments, places);
  }

  size_t undo_bytes() const override {
    return round_up_to_alignment(count_ * sizeof(size_t)) + outer_ * count_ * block_bytes_;
  }

  void undo(const KernelArguments& arguments) override {
    char* const y = arguments.output<char>(0);
    const char* saved = saved_blocks(arguments);
    for_each_block(static_cast<const size_t*>(arguments.undo), [&](size_t offset) {
      std::memcpy(y + offset, saved, block_bytes_);
      saved += block_bytes_;
    });
  }

 protected:
  // Gives `count` places, in blocks.
  virtual Status find(const KernelArguments& arguments, size_t* places) const = 0;

  // Returns the scratch memory needed.
  size_t set(UpdateKind kind, DType dtype, size_t outer, size_t part, size_t count, size_t block) {
    element_size_ = element_size(dtype);
    update_ = update_of(kind, dtype);
    assigns_ = kind == UpdateKind::Assign;
    outer_ = outer;
    part_bytes_ = part * element_size_;
    count_ = count;
    block_bytes_ = block * element_size_;
    return count * sizeof(size_t);
  }

 private:
  template <typename Function>
  void for_each_block(const size_t* places, const Function& function) const {
    for (size_t part = 0; part < outer_; ++part) {
      for (size_t i = 0; i < count_; ++i) {
        function(part * part_bytes_ + places[i] * block_bytes_);
      }
    }
  }

  char* saved_blocks(const KernelArguments& arguments) const {
    return static_cast<char*>(arguments.undo) + round_up_to_alignment(count_ * sizeof(size_t));
  }

  // Several values for one place are in one task, so they come in order.
  void update(const KernelArguments& arguments, const size_t* places) const {
    if (count_ == 0 || block_bytes_ == 0) {
      return;
    }
    const size_t whole = kGrain / (count_ * block_bytes_) + 1; // parts in a task
    const size_t columns =
        std::clamp<size_t>(kGrain / count_ / kAlignment * kAlignment, kAlignment, round_up_to_alignment(block_bytes_));
    const size_t pieces = (block_bytes_ + columns - 1) / columns;
    parallel_for(arguments.pool, outer_ * pieces, pieces == 1 ? whole : 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t first = i % pieces * columns;
        update_part(arguments, places, i / pieces, first, std::min(columns, block_bytes_ - first));
      }
    });
  }

  // Bytes [first, first + bytes) of all blocks of a part.
  void update_part(
      const KernelArguments& arguments, const size_t* places, size_t part, size_t first, size_t bytes) const {
    char* const y = arguments.output<char>(0) + part * part_bytes_ + first;
    const char* values = arguments.input<char>(1) + part * count_ * block_bytes_ + first;
    if (block_bytes_ == element_size_) {
      return update_.each(y, places, values, count_);
    }
    for (size_t i = 0; i < count_; ++i, values += block_bytes_) {
      char* const to = y + places[i] * block_bytes_;
      if (assigns_) {
        std::memcpy(to, values, bytes);
      } else {
        update_.row(to, values, bytes / element_size_);
      }
    }
  }

  Update update_{};
  bool assigns_ = true;
  size_t outer_ = 0, part_bytes_ = 0, count_ = 0, block_bytes_ = 0, element_size_ = 1;
};

class IndexPut final : public BlockUpdate {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::IndexPut>();
    const Shape& x = node.input(0).shape;
    const size_t axis = attributes.axis();
    const size_t last = axis + node.num_inputs() - 2;
    places_.reshape(node, 2, axis, attributes.wrap());
    return set(
        attributes.kind(),
        node.output().dtype,
        x.numel(0, axis),
        x.numel(axis, x.rank),
        places_.count(),
        x.numel(last, x.rank));
  }

 private:
  Status find(const KernelArguments& arguments, size_t* places) const override {
    return places_.find(arguments, places);
  }

  IndexPlaces places_;
};

class Scatter final : public BlockUpdate {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Scatter>();
    places_.reshape(node, 2, attributes.axis());
    return set(attributes.kind(), node.output().dtype, 1, node.output().shape.numel(), places_.count(), 1);
  }

 private:
  Status find(const KernelArguments& arguments, size_t* places) const override {
    return places_.find(arguments, places);
  }

  AxisPlaces places_;
};

class SliceScatter final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::SliceScatter>();
    const size_t element = element_size(node.output().dtype);
    const Strides dense = dense_strides(node.output().shape);
    CopyBox box;
    box.shape = node.input(1).shape;
    box.from = dense_strides(box.shape);
    for (uint32_t axis = 0; axis < box.shape.rank; ++axis) {
      box.to[axis] = dense[axis] * attributes.step()->Get(axis);
      box.to_offset += dense[axis] * static_cast<size_t>(node.sizes().resolve(attributes.start()->Get(axis)));
    }
    CopyBox back = box;
    std::swap(back.from, back.to);
    std::swap(back.from_offset, back.to_offset);
    write_.emplace(box, element);
    save_.emplace(back, element);
    bytes_ = node.output().bytes();
    saved_bytes_ = node.input(1).bytes();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    void* const y = arguments.outputs[0];
    if (!is_in_place(arguments)) {
      copy(arguments.inputs[0], y, bytes_, arguments.pool);
    } else if (arguments.undo != nullptr) {
      save_->run(y, arguments.undo, arguments.pool);
    }
    write_->run(arguments.inputs[1], y, arguments.pool);
  }

  size_t undo_bytes() const override {
    return saved_bytes_;
  }
  void undo(const KernelArguments& arguments) override {
    write_->run(arguments.undo, arguments.outputs[0], arguments.pool);
  }

 private:
  std::optional<StridedCopy> write_, save_;
  size_t bytes_ = 0, saved_bytes_ = 0;
};

class MaskedScatter final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    element_size_ = element_size(node.output().dtype);
    count_ = node.output().shape.numel();
    available_ = node.input(2).shape.numel();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const bool* const mask = arguments.input<bool>(1);
    const size_t needed = static_cast<size_t>(std::count(mask, mask + count_, true));
    if (needed > available_) {
      *arguments.status = failure(
          Error::InvalidArgument, "the mask holds for %zu elements, there are values for %zu", needed, available_);
      return;
    }
    char* const y = arguments.output<char>(0);
    const char* values = arguments.input<char>(2);
    copy(arguments.inputs[0], y, count_ * element_size_, arguments.pool);
    for (size_t i = 0; i < count_; ++i) {
      if (mask[i]) {
        std::memcpy(y + i * element_size_, values, element_size_);
        values += element_size_;
      }
    }
  }

 private:
  size_t element_size_ = 1, count_ = 0, available_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_index_put(const NodeContext&) {
  return std::make_unique<IndexPut>();
}
std::unique_ptr<Kernel> make_scatter(const NodeContext&) {
  return std::make_unique<Scatter>();
}
std::unique_ptr<Kernel> make_slice_scatter(const NodeContext&) {
  return std::make_unique<SliceScatter>();
}
std::unique_ptr<Kernel> make_masked_scatter(const NodeContext&) {
  return std::make_unique<MaskedScatter>();
}

} // namespace executorch::backends::et_xnnpack
