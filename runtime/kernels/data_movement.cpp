// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "data_movement.h"

#include <cstring>
#include <vector>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

using Strides = std::array<int64_t, kMaxRank>;

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  int64_t stride = 1;
  for (size_t axis = shape.rank; axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<int64_t>(shape[axis]);
  }
  return strides;
}

// Copies a box of elements. Offsets and strides are in elements.
struct StridedCopy {
  Shape shape;
  Strides from{}, to{};
  int64_t from_offset = 0, to_offset = 0;

  void run(const void* source, void* target, size_t element) const {
    for (size_t i = 0; i < shape.numel(); ++i) {
      size_t rest = i;
      int64_t read = from_offset, write = to_offset;
      for (size_t axis = shape.rank; axis-- > 0; rest /= shape[axis]) {
        const auto index = static_cast<int64_t>(rest % shape[axis]);
        read += index * from[axis];
        write += index * to[axis];
      }
      std::memcpy(
          static_cast<char*>(target) + write * static_cast<int64_t>(element),
          static_cast<const char*>(source) + read * static_cast<int64_t>(element),
          element);
    }
  }
};

// Input i fills a box of the output.
class DataMovement : public Kernel {
 public:
  void run(const KernelArguments& arguments) override {
    if (fills_) {
      float* output = static_cast<float*>(arguments.outputs[0]);
      for (size_t i = 0; i < elements_; ++i) {
        output[i] = fill_;
      }
    }
    for (size_t i = 0; i < copies_.size(); ++i) {
      copies_[i].run(arguments.inputs[i], arguments.outputs[0], element_);
    }
  }

 protected:
  void begin(const NodeContext& node) {
    copies_.clear();
    element_ = element_size(node.output().dtype);
    elements_ = node.output().shape.numel();
  }

  std::vector<StridedCopy> copies_;
  size_t element_ = 0, elements_ = 0;
  bool fills_ = false;
  float fill_ = 0;
};

class Copy final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    StridedCopy copy;
    copy.shape = node.output().shape;
    copy.from = copy.to = dense_strides(copy.shape);
    copies_.push_back(copy);
    return size_t{0};
  }
};

class Transpose final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const auto* perm = node.attributes<schema::Transpose>().perm();
    const Strides from = dense_strides(node.input(0).shape);
    StridedCopy copy;
    copy.shape = node.output().shape;
    copy.to = dense_strides(copy.shape);
    for (size_t axis = 0; axis < copy.shape.rank; ++axis) {
      copy.from[axis] = from[perm->Get(static_cast<uint32_t>(axis))];
    }
    copies_.push_back(copy);
    return size_t{0};
  }
};

class Expand final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const Shape& input = node.input(0).shape;
    const Strides from = dense_strides(input);
    StridedCopy copy;
    copy.shape = node.output().shape;
    copy.to = dense_strides(copy.shape);
    const size_t shift = copy.shape.rank - input.rank;
    for (size_t axis = 0; axis < input.rank; ++axis) {
      copy.from[axis + shift] = input[axis] == 1 ? 0 : from[axis];
    }
    copies_.push_back(copy);
    return size_t{0};
  }
};

class Slice final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const auto& attributes = node.attributes<schema::Slice>();
    StridedCopy copy;
    copy.shape = node.output().shape;
    copy.to = dense_strides(copy.shape);
    copy.from = dense_strides(node.input(0).shape);
    copy.from_offset = node.sizes().resolve(attributes.start()) * copy.from[attributes.axis()];
    copy.from[attributes.axis()] *= attributes.step();
    copies_.push_back(copy);
    return size_t{0};
  }
};

class Concat final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const size_t axis = node.attributes<schema::Concat>().axis();
    int64_t offset = 0;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      StridedCopy copy;
      copy.shape = node.input(i).shape;
      copy.from = dense_strides(copy.shape);
      copy.to = dense_strides(node.output().shape);
      copy.to_offset = offset * copy.to[axis];
      offset += static_cast<int64_t>(copy.shape[axis]);
      copies_.push_back(copy);
    }
    return size_t{0};
  }
};

class Pad final : public DataMovement {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    begin(node);
    const auto& attributes = node.attributes<schema::Pad>();
    StridedCopy copy;
    copy.shape = node.input(0).shape;
    copy.from = dense_strides(copy.shape);
    copy.to = dense_strides(node.output().shape);
    for (size_t axis = 0; axis < copy.shape.rank; ++axis) {
      copy.to_offset += attributes.before()->Get(static_cast<uint32_t>(axis)) * copy.to[axis];
    }
    copies_.push_back(copy);
    fills_ = true;
    fill_ = attributes.value();
    return size_t{0};
  }
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
std::unique_ptr<Kernel> make_pad(const NodeContext&) {
  return std::make_unique<Pad>();
}

} // namespace executorch::backends::et_xnnpack
