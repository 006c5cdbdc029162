// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <vector>

#include "runtime/ops/kernel.h"
#include "runtime/ops/op.h"
#include "runtime/xnnpack/operator.h"
#include "runtime/xnnpack/rounded_rows.h"
#include "runtime/xnnpack/versions.h"

namespace executorch::backends::et_xnnpack {

// A node that operators of XNNPACK compute, one after the other.
class XnnpackKernel : public Kernel {
 public:
  // `float16`: operands that are Float32 are Float16 tensors instead. Constants are in Float32 until load().
  explicit XnnpackKernel(bool float16 = false) : float16_(float16) {}

  Status load(const NodeContext& node, ConstantSource& constants) final;
  bool consumes(const NodeContext&, size_t i) const final {
    return float16_ || packs(i);
  }
  bool rounds(const NodeContext&, size_t i) const final {
    return float16_ && !packs(i);
  }
  void use_pool(pthreadpool_t pool) final {
    pool_ = pool;
  }
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) final;
  bool can_overwrite(size_t i) const final {
    return can_overwrite_[i];
  }
  void run(const KernelArguments& arguments) final;

 protected:
  virtual Status create_operators(const NodeContext& node, ConstantSource& constants) = 0;
  // Whether create_operators() keeps all that is needed of input `i` if that is a constant.
  virtual bool packs(size_t /*i*/) const {
    return false;
  }
  // Whether each element of output 0 depends on one element of each input.
  virtual bool is_elementwise() const {
    return false;
  }
  // Takes over new sizes: calls add_step() for each operator in the order in which they run, and add_scratch().
  virtual Status reshape_operators(const NodeContext& node) = 0;
  // Called in front of the operators, at each run().
  virtual void begin(const KernelArguments&) {}
  // Called behind the operators, at each run().
  virtual void finish(const KernelArguments&) {}
  // Takes over new addresses. Called by the first run() after reshape(), and when an address changed.
  virtual Status set_up(const KernelArguments& arguments) = 0;

  // `op` must live until the next reshape().
  void add_step(xnn_operator_t op) {
    steps_.push_back(op);
  }
  // Reserves so many bytes of scratch memory, behind which XNNPACK may read, and returns their offset for scratch();
  // any offset for 0 bytes.
  size_t add_scratch(size_t bytes);
  static void* scratch(const KernelArguments& arguments, size_t offset) {
    return static_cast<char*>(arguments.scratch) + offset;
  }
  // Where input `i` is. REQUIRES: it is no constant that create_operators() keeps
  const void* input(const KernelArguments& arguments, size_t i) const {
    return i < rounded_.size() && rounded_[i].data != nullptr ? rounded_[i].data : arguments.inputs[i];
  }
  bool is_float16() const {
    return float16_;
  }
  xnn_datatype float_type() const {
    return float16_ ? xnn_datatype_fp16 : xnn_datatype_fp32;
  }
  pthreadpool_t pool() const {
    return pool_;
  }

 private:
  Status round(const NodeContext& node, size_t i, ConstantSource& constants);

  const bool float16_;
  std::vector<PackedMemory> rounded_; // constants in Float16, by input
  pthreadpool_t pool_ = nullptr;
  std::vector<xnn_operator_t> steps_;
  std::vector<bool> can_overwrite_; // by input
  size_t scratch_bytes_ = 0;
  std::vector<const void*> addresses_; // of the last run(); empty if that was before reshape(), or failed
};

// Quantizes Float32 to Int8 at run time, each row or image with its own scale and zero point; to UInt8 if the product
// that follows is one of numbers without sign.
class XnnpackDynamicQuantization {
 public:
  Status create(bool is_unsigned);
  // `count` rows or images of `size` numbers.
  Status reshape(size_t count, size_t size, pthreadpool_t pool);
  static size_t bytes(size_t count, size_t size) {
    return count * size;
  }
  static size_t parameter_bytes(size_t count) {
    return parameters_for(count) * sizeof(xnn_quantization_params);
  }
  Status set_up(const void* x, void* y, void* parameters);
  xnn_operator_t get() const {
    return operator_.get();
  }

  // Whether this build of XNNPACK makes numbers of rows or images that hold NaN or infinity, and their products have to
  // be mended.
  static bool loses_nan();
  // Takes over which scales [columns, groups] or numbers of a bias are NaN, and so their columns. `bias`: null if there
  // is none. REQUIRES: loses_nan()
  void remember_columns(const float* scale, size_t columns, size_t groups, const float* bias);
  // Makes what a product has made of such rows or images, `y_size` numbers each, NaN, and what it has made of such
  // columns. `parameters` are those of set_up().
  // REQUIRES: create() and reshape() succeeded, the product has run
  void mend(const void* x, const void* parameters, void* y, size_t y_size, pthreadpool_t pool) const;

 private:
  bool is_unsigned_ = false;
  OperatorPtr operator_;
  size_t count_ = 0, size_ = 0; // of the last reshape()
  size_t columns_ = 0;
  std::vector<size_t> nan_columns_; // of all results
};

// Shapes of no axes as XNNPACK takes them.
struct XnnpackShape {
  explicit XnnpackShape(const Shape& shape);

  size_t rank;
  std::array<size_t, kMaxRank> dims;

  size_t channels() const {
    return dims[rank - 1];
  }
  size_t rows() const;
};

// An elementwise operator of one operand on tensors of this shape.
Status reshape_unary(xnn_operator_t op, const Shape& shape, pthreadpool_t pool);
// One that limits numbers to [min, max].
StatusOr<OperatorPtr> create_clamp(float min, float max, xnn_datatype datatype);

// Whether the clamp is a range in float16, too: products in float16 take no other.
bool is_range_in_float16(const schema::Clamp* clamp);

} // namespace executorch::backends::et_xnnpack
