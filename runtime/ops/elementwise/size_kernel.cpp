// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "size_kernel.h"

#include <numeric>

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

class Iota final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    count_ = node.output().shape.numel();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    int64_t* const y = arguments.output<int64_t>(0);
    std::iota(y, y + count_, int64_t{0});
  }

 private:
  size_t count_ = 0;
};

class SizeValue final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    value_ = node.sizes().resolve(node.attributes<schema::SizeValue>().size());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    *arguments.output<int64_t>(0) = value_;
  }

 private:
  int64_t value_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_iota(const NodeContext&) {
  return std::make_unique<Iota>();
}

std::unique_ptr<Kernel> make_size_value(const NodeContext&) {
  return std::make_unique<SizeValue>();
}

} // namespace executorch::backends::et_xnnpack
