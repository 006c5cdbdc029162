// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Runs a kernel as an Executable would, on every instruction set that the CPU has, with and
// without threads, on memory that ends or begins at an unmapped page.

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/base/dtype.h>
#include <runtime/base/shape.h>
#include <runtime/base/status.h>
#include <runtime/kernels/common/arguments.h>
#include <runtime/kernels/simd/isa.h>

namespace executorch::backends::et_xnnpack::testing {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What a kernel knows of a tensor.
struct TensorSpec {
  DType dtype = DType::Float32;
  Shape shape;

  size_t bytes() const {
    return shape.numel() * element_size(dtype);
  }
  // "Float32[2, 3]"
  std::string to_string() const {
    return name_of(dtype) + shape.to_string();
  }
};

// `Type` has a shape.
template <typename Type>
struct TypedTensor {
  Type type;
  std::vector<uint8_t> bytes;

  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  const Shape& shape() const {
    return type.shape;
  }
  size_t numel() const {
    return type.shape.numel();
  }
};

struct Tensor : TypedTensor<TensorSpec> {
  Tensor() = default;
  Tensor(DType dtype, const Shape& shape);
};

// Uniform in [low, high).
Tensor random_floats(const Shape& shape, float low = -2, float high = 2);
Tensor floats(const Shape& shape, const std::vector<float>& values);
// Each element its own index, as far as its size allows.
Tensor iota(DType dtype, const Shape& shape);

// What is left of floats in a type of 16 bits; the same in another one.
Tensor rounded(Tensor x, DType type);

// Floats in a type of 16 bits.
Tensor narrowed(const Tensor& x, DType type);

// Repeats the values until the shape is full.
Tensor repeated(const Shape& shape, const std::vector<float>& values);

// A kernel as the checks below run it.
class TestedKernel {
 public:
  virtual ~TestedKernel() = default;
  // Nothing if constant input i is read as it is.
  virtual std::optional<size_t> packed_bytes(size_t i) const = 0;
  virtual Status pack(size_t i, const void* original, void* packed) const = 0;
  // In what type pack() takes an input of Float32.
  virtual DType packed_from(size_t /*i*/) const {
    return DType::Float32;
  }
  virtual StatusOr<size_t> reshape(size_t num_threads) = 0;
  virtual void run(const KernelArguments& arguments) = 0;
};

// One that knows no nodes: it has what runtime/ops/common/kernel_of.h asks for.
template <typename Plain, typename Parameters>
class TestedPlain final : public TestedKernel {
 public:
  explicit TestedPlain(const Parameters& parameters) : parameters_(parameters) {}

  std::optional<size_t> packed_bytes(size_t i) const override {
    if constexpr (Packs<Plain>::value) {
      if (Plain::packed_layout(parameters_, i).has_value()) {
        return Plain::packed_bytes(parameters_, i);
      }
    }
    return std::nullopt;
  }
  Status pack(size_t i, const void* original, void* packed) const override {
    if constexpr (Packs<Plain>::value) {
      return Plain::pack(parameters_, i, original, packed);
    }
    return failure(Error::Internal, "input %zu of %p to %p is not packed", i, original, packed);
  }
  DType packed_from(size_t /*i*/) const override {
    if constexpr (PacksOther<Plain>::value) {
      return Plain::packed_from(parameters_);
    }
    return DType::Float32;
  }
  StatusOr<size_t> reshape(size_t num_threads) override {
    return plain_.reshape(parameters_, num_threads);
  }
  void run(const KernelArguments& arguments) override {
    if constexpr (Finds<Plain>::value) {
      (void)plain_.find_size(arguments);
      if (!arguments.status->ok()) {
        return;
      }
    }
    plain_.run(arguments);
  }

 private:
  template <typename T, typename = void>
  struct Finds : std::false_type {};
  template <typename T>
  struct Finds<T, std::void_t<decltype(&T::find_size)>> : std::true_type {};

  template <typename T, typename = void>
  struct PacksOther : std::false_type {};
  template <typename T>
  struct PacksOther<T, std::void_t<decltype(&T::packed_from)>> : std::true_type {};

  template <typename T, typename = void>
  struct Packs : std::false_type {};
  template <typename T>
  struct Packs<T, std::void_t<decltype(&T::pack)>> : std::true_type {};

  const Parameters parameters_;
  Plain plain_;
};

// One of two functions.
class TestedFunctions final : public TestedKernel {
 public:
  using Reshape = std::function<StatusOr<size_t>(size_t num_threads)>;
  using Run = std::function<void(const KernelArguments& arguments)>;
  TestedFunctions(Reshape reshape, Run run) : reshape_(std::move(reshape)), run_(std::move(run)) {}

  std::optional<size_t> packed_bytes(size_t) const override {
    return std::nullopt;
  }
  Status pack(size_t i, const void* original, void* packed) const override {
    return failure(Error::Internal, "input %zu of %p to %p is not packed", i, original, packed);
  }
  StatusOr<size_t> reshape(size_t num_threads) override {
    return reshape_(num_threads);
  }
  void run(const KernelArguments& arguments) override {
    run_(arguments);
  }

 private:
  const Reshape reshape_;
  const Run run_;
};

// Makes a Plain, whose reshape takes these parameters.
template <typename Plain, typename Parameters>
std::function<std::unique_ptr<TestedKernel>()> plain_kernel(const Parameters& parameters) {
  return [parameters] { return std::make_unique<TestedPlain<Plain, Parameters>>(parameters); };
}

struct PlainCase {
  std::function<std::unique_ptr<TestedKernel>()> make;
  std::vector<std::optional<Tensor>> inputs;
  std::vector<TensorSpec> outputs;
  size_t checked = 0; // the output to compare
  std::vector<size_t> constants = {}; // inputs that are
};

template <typename Plain, typename Parameters>
PlainCase plain_case(
    const Parameters& parameters,
    std::vector<std::optional<Tensor>> inputs,
    std::vector<TensorSpec> outputs,
    std::vector<size_t> constants = {}) {
  return {plain_kernel<Plain>(parameters), std::move(inputs), std::move(outputs), 0, std::move(constants)};
}

// Equal, or closer than absolute + relative * |expected|; NaN only to NaN.
struct Tolerance {
  float absolute = 0;
  float relative = 0;
};

// Whether it does; the test fails, and says where, if not.
bool matches(const Tensor& actual, const Tensor& expected, Tolerance tolerance);

// Which instruction sets of those that this CPU has: each of our kernels', with the best instructions for bfloat16 that go
// with it; each of those with all instructions for bfloat16; or only those that have some. Or also the best one without
// has_byte_dot().
enum class Isas { Vectors, WithBFloat16, OnlyBFloat16, WithoutByteDot };

// Runs the case in every way and compares with what it must give.
void check_kernel(
    const PlainCase& plain_case, const Tensor& expected, Tolerance tolerance = {}, Isas isas = Isas::Vectors);

// Runs it once. `threads` 0: without a pool.
Tensor run_kernel(const PlainCase& plain_case, size_t threads = 0);

// Runs it once without a pool and returns what the kernel says. What fails must not have written.
Status try_kernel(const PlainCase& plain_case);

// Calls the function for every instruction set, with kernels made inside using it.
void for_each_isa(const std::function<void()>& function, Isas isas = Isas::Vectors);

// Row-major position of an element: next() steps through all.
class Index {
 public:
  explicit Index(const Shape& shape) : shape_(shape) {}
  size_t operator[](size_t axis) const {
    return at_[axis];
  }
  void next() {
    for (size_t axis = shape_.rank; axis-- > 0;) {
      if (++at_[axis] < shape_[axis]) {
        return;
      }
      at_[axis] = 0;
    }
  }
  // Offset of this position in a tensor that broadcasts to the shape.
  size_t in(const Shape& other) const {
    size_t offset = 0;
    for (size_t axis = 0; axis < other.rank; ++axis) {
      const size_t i = at_[axis + shape_.rank - other.rank];
      offset = offset * other[axis] + (other[axis] == 1 ? 0 : i);
    }
    return offset;
  }

 private:
  Shape shape_;
  std::array<size_t, kMaxRank> at_{};
};

} // namespace executorch::backends::et_xnnpack::testing
