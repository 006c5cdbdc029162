// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "data_movement.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/ops/op.h"
#include "runtime/program/quantization.h"
#include "runtime/kernels/simd/half.h"
#include "strided_copy.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// The box of a whole tensor.
CopyBox whole(const Shape& shape) {
  CopyBox box;
  box.shape = shape;
  box.from = box.to = dense_strides(shape);
  return box;
}

// Inputs fill boxes of the output.
class DataMovement : public Kernel {
 public:
  void run(const KernelArguments& arguments) override {
    for (const auto& [input, copy] : copies_) {
      copy.run(input == kFill ? fill_ : arguments.inputs[input], arguments.outputs[0], arguments.pool);
    }
  }

 protected:
  // Stands for fill_ in place of an input.
  static constexpr size_t kFill = ~size_t{0};

  void begin(const NodeContext& node) {
    copies_.clear();
    element_ = element_size(node.output().storage());
  }
  void add(size_t input, const CopyBox& box) {
    copies_.push_back({input, StridedCopy(box, element_)});
  }

  char fill_[8] = {};

 private:
  struct Part {
    size_t input;
    StridedCopy copy;
  };
  std::vector<Part> copies_;
  size_t element_ = 0;
};

class Copy final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    add(0, whole(node.output().shape));
    return size_t{0};
  }
};

class Transpose final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const auto* perm = node.attributes<schema::Transpose>().perm();
    const Strides from = dense_strides(node.input(0).shape);
    CopyBox box = whole(node.output().shape);
    for (size_t axis = 0; axis < box.shape.rank; ++axis) {
      box.from[axis] = from[perm->Get(static_cast<uint32_t>(axis))];
    }
    add(0, box);
    return size_t{0};
  }
};

class Expand final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const Shape& input = node.input(0).shape;
    const Strides from = dense_strides(input);
    CopyBox box = whole(node.output().shape);
    box.from = {};
    const size_t shift = box.shape.rank - input.rank;
    for (size_t axis = 0; axis < input.rank; ++axis) {
      box.from[axis + shift] = input[axis] == 1 ? 0 : from[axis];
    }
    add(0, box);
    return size_t{0};
  }
};

class Slice final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const auto& attributes = node.attributes<schema::Slice>();
    const size_t axis = attributes.axis();
    CopyBox box = whole(node.output().shape);
    box.from = dense_strides(node.input(0).shape);
    box.from_offset = static_cast<size_t>(node.sizes().resolve(attributes.start())) * box.from[axis];
    box.from[axis] *= attributes.step();
    add(0, box);
    return size_t{0};
  }
};

class Concat final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const size_t axis = node.attributes<schema::Concat>().axis();
    const Strides to = dense_strides(node.output().shape);
    size_t offset = 0;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      CopyBox box = whole(node.input(i).shape);
      box.to = to;
      box.to_offset = offset * to[axis];
      offset += box.shape[axis];
      add(i, box);
    }
    return size_t{0};
  }
};

class Pad final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const auto& attributes = node.attributes<schema::Pad>();
    store_value(node.output(), attributes.value());
    const Shape& input = node.input(0).shape;
    const Shape& output = node.output().shape;

    // Along each axis two borders, as wide as the input on the axes before it and as the
    // output on those behind.
    CopyBox border;
    border.shape = output;
    border.to = dense_strides(output);
    for (size_t axis = 0; axis < input.rank; ++axis) {
      const size_t before = attributes.before()->Get(static_cast<uint32_t>(axis));
      border.shape[axis] = before;
      add(kFill, border);
      CopyBox end = border;
      end.shape[axis] = output[axis] - input[axis] - before;
      end.to_offset += (before + input[axis]) * border.to[axis];
      add(kFill, end);
      border.to_offset += before * border.to[axis];
      border.shape[axis] = input[axis];
    }
    border.from = dense_strides(input);
    add(0, border);
    return size_t{0};
  }

 private:
  void store_value(const TensorType& type, float value) {
    if (type.quantization != nullptr) {
      value = static_cast<float>(quantize_number(*type.quantization, type.stored, value));
    }
    switch (type.storage()) {
      case DType::Float32:
        return store(value);
      case DType::Int32:
        return store(static_cast<int32_t>(value));
      case DType::Int64:
        return store(static_cast<int64_t>(value));
      case DType::Bool:
        return store(static_cast<uint8_t>(value != 0));
      case DType::Int8:
        return store(static_cast<int8_t>(value));
      case DType::UInt8:
        return store(static_cast<uint8_t>(value));
      case DType::Float16:
      case DType::BFloat16:
        return narrow(type.dtype, &value, fill_, 1);
    }
  }
  template <typename T>
  void store(T value) {
    std::memcpy(fill_, &value, sizeof(value));
  }
};

// A border of elements of the input.
class PadByCopies final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Pad>();
    const Shape& x = node.input(0).shape;
    const Shape& y = node.output().shape;
    last_ = 0; // the last axis with a border
    for (size_t axis = 0; axis < x.rank; ++axis) {
      last_ = x[axis] == y[axis] ? last_ : axis;
      before_[axis] = attributes.before()->Get(static_cast<uint32_t>(axis));
    }
    mode_ = attributes.mode();
    x_ = x;
    y_ = y;
    block_ = x.rank == 0 ? 0 : x.numel(last_ + 1, x.rank) * element_size(node.output().storage());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const size_t row = y_[last_] * block_;
    parallel_for(arguments.pool, y_.numel(0, last_), kGrain / (row + 1) + 1, [&](size_t begin, size_t end) {
      switch (block_) {
        case 1:
          return copy_rows(arguments, begin, end, std::integral_constant<size_t, 1>());
        case 4:
          return copy_rows(arguments, begin, end, std::integral_constant<size_t, 4>());
        case 8:
          return copy_rows(arguments, begin, end, std::integral_constant<size_t, 8>());
        default:
          return copy_rows(arguments, begin, end, block_);
      }
    });
  }

 private:
  static constexpr size_t kGrain = 65536; // bytes

  // The place on `axis` of the input whose element is at i of the output. REQUIRES: infer_pad passed
  size_t source(size_t axis, size_t i) const {
    const size_t before = before_[axis], size = x_[axis];
    if (i >= before && i - before < size) {
      return i - before;
    }
    const bool is_before = i < before;
    const size_t distance = is_before ? before - i : i - before - size + 1; // from the edge, 1 or more
    switch (mode_) {
      case schema::PadMode::Reflect:
        return is_before ? distance : size - 1 - distance;
      case schema::PadMode::Circular:
        return is_before ? size - distance : distance - 1;
      case schema::PadMode::Replicate:
      case schema::PadMode::Constant:
        break;
    }
    return is_before ? 0 : size - 1;
  }

  // Rows [begin, end) of the output along the last axis with a border; `block` is block_, perhaps as a constant.
  template <typename Block>
  void copy_rows(const KernelArguments& arguments, size_t begin, size_t end, Block block) const {
    const size_t x_row = x_[last_] * block, y_row = y_[last_] * block;
    char* y = arguments.output<char>(0) + begin * y_row;
    for (size_t i = begin; i < end;) {
      // Those that differ on the axis before only.
      const size_t size = last_ == 0 ? 1 : y_[last_ - 1];
      size_t part = 0, stride = 1;
      for (size_t axis = last_, rest = i / size; axis-- > 1; rest /= y_[axis - 1]) {
        stride *= x_[axis];
        part += source(axis - 1, rest % y_[axis - 1]) * stride;
      }
      const char* const x = arguments.input<char>(0) + part * x_row;
      const size_t first = i % size, count = std::min(end - i, size - first);
      for (size_t k = 0; k < count; ++k, y += y_row) {
        copy_row(x + (last_ == 0 ? 0 : source(last_ - 1, first + k)) * x_row, y, block);
      }
      i += count;
    }
  }

  template <typename Block>
  void copy_row(const char* x, char* y, Block block) const {
    const size_t size = x_[last_], first = before_[last_], behind = y_[last_] - first - size;
    char* const middle = y + first * block;
    char* const after = middle + size * block;
    copy_run(x, middle, size * block);
    switch (mode_) {
      case schema::PadMode::Reflect:
        for (size_t i = 1; i <= first; ++i) {
          std::memcpy(middle - i * block, x + i * block, block);
        }
        for (size_t i = 0; i < behind; ++i) {
          std::memcpy(after + i * block, x + (size - 2 - i) * block, block);
        }
        return;
      case schema::PadMode::Circular:
        std::memcpy(y, x + (size - first) * block, first * block);
        std::memcpy(after, x, behind * block);
        return;
      case schema::PadMode::Replicate:
      case schema::PadMode::Constant:
        break;
    }
    for (size_t i = 0; i < first; ++i) {
      std::memcpy(y + i * block, x, block);
    }
    for (size_t i = 0; i < behind; ++i) {
      std::memcpy(after + i * block, x + (size - 1) * block, block);
    }
  }

  // Short runs without a call; their last two steps overlap.
  static void copy_run(const char* x, char* y, size_t bytes) {
    constexpr size_t kStep = 32, kShort = 1024;
    if (bytes < kStep || bytes > kShort) {
      std::memcpy(y, x, bytes);
      return;
    }
    const size_t last = bytes - kStep;
    for (size_t i = 0; i < last; i += kStep) {
      std::memcpy(y + i, x + i, kStep);
    }
    std::memcpy(y + last, x + last, kStep);
  }

  Shape x_, y_;
  size_t last_ = 0;
  size_t block_ = 0; // bytes behind that axis
  schema::PadMode mode_ = schema::PadMode::Reflect;
  std::array<size_t, kMaxRank> before_{};
};

} // namespace

std::unique_ptr<Kernel> make_copy(const NodeContext&) {
  return std::make_unique<Copy>();
}
std::unique_ptr<Kernel> make_transpose(const NodeContext&) {
  return std::make_unique<Transpose>();
}
std::unique_ptr<Kernel> make_expand(const NodeContext&) {
  return std::make_unique<Expand>();
}
std::unique_ptr<Kernel> make_slice(const NodeContext&) {
  return std::make_unique<Slice>();
}
std::unique_ptr<Kernel> make_concat(const NodeContext&) {
  return std::make_unique<Concat>();
}
std::unique_ptr<Kernel> make_pad(const NodeContext& node) {
  const bool is_constant = node.attributes<schema::Pad>().mode() == schema::PadMode::Constant;
  if (is_constant || node.input(0).shape.rank == 0) {
    return std::make_unique<Pad>();
  }
  return std::make_unique<PadByCopies>();
}

} // namespace executorch::backends::et_xnnpack
