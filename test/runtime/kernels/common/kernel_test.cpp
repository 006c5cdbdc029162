// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>
#include <random>

#include "kernel_test.h"

#include <hwy/highway.h>
#include <runtime/kernels/simd/reduced_float.h>

#include "guarded_buffer.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Gives each test the same numbers, whichever ran before.
std::mt19937& generator() {
  static std::mt19937 engine;
  static const ::testing::TestInfo* user = nullptr;
  const ::testing::TestInfo* const current = ::testing::UnitTest::GetInstance()->current_test_info();
  if (current != user) {
    engine.seed(7);
    user = current;
  }
  return engine;
}

// The thread sanitizer looks for races only.
#ifdef __SANITIZE_THREAD__
constexpr size_t kThreads[] = {3};
constexpr bool kEnds[] = {true};
#else
constexpr size_t kThreads[] = {0, 3};
constexpr bool kEnds[] = {false, true};
#endif

pthreadpool_t pool_of(size_t threads) {
  static const pthreadpool_t three = pthreadpool_create(3);
  EXPECT_TRUE(threads == 0 || threads == 3);
  return threads == 0 ? nullptr : three;
}

template <typename T>
bool floats_match(const Tensor& actual, const Tensor& expected, Tolerance tolerance) {
  for (size_t i = 0; i < expected.numel(); ++i) {
    const T a = actual.data<T>()[i];
    const T e = expected.data<T>()[i];
    const T limit = static_cast<T>(tolerance.absolute) + static_cast<T>(tolerance.relative) * std::fabs(e);
    const bool equal = a == e && std::signbit(a) == std::signbit(e);
    const bool close = limit > 0 && std::isfinite(e) && std::fabs(a - e) <= limit;
    if (!equal && !close && !(std::isnan(a) && std::isnan(e))) {
      ADD_FAILURE() << isa_name() << ": element " << i << " of " << expected.type.to_string() << " is " << a
                    << ", must be " << e << " +- " << limit;
      return false;
    }
  }
  return true;
}

// An input of Float32 in the 16 bits in which the kernel packs it; null if that is not so.
std::unique_ptr<GuardedBuffer> reduced_for(const TestedKernel& kernel, size_t i, const Tensor& input, bool at_end) {
  const DType type = kernel.packed_from(i);
  if (input.type.dtype != DType::Float32 || !is_reduced_float(type)) {
    return nullptr;
  }
  auto reduced = std::make_unique<GuardedBuffer>(input.numel() * sizeof(uint16_t), at_end);
  narrow(type, input.data<float>(), reduced->data(), input.numel());
  return reduced;
}

Tensor run_once(const PlainCase& plain_case, size_t threads, bool at_end, Status* refusal = nullptr) {
  std::vector<std::unique_ptr<GuardedBuffer>> buffers;
  std::vector<const void*> inputs;
  for (const auto& input : plain_case.inputs) {
    buffers.push_back(std::make_unique<GuardedBuffer>(input ? input->bytes.size() : 0, at_end));
    if (input && !input->bytes.empty()) {
      std::memcpy(buffers.back()->data(), input->bytes.data(), input->bytes.size());
    }
    inputs.push_back(input ? buffers.back()->data() : nullptr);
  }
  const std::vector<TensorSpec>& output_types = plain_case.outputs;

  Tensor output(output_types[plain_case.checked].dtype, output_types[plain_case.checked].shape);
  const std::unique_ptr<TestedKernel> kernel = plain_case.make();
  std::vector<std::unique_ptr<GuardedBuffer>> packed;
  for (const size_t i : plain_case.constants) {
    if (const std::optional<size_t> bytes = kernel->packed_bytes(i)) {
      packed.push_back(std::make_unique<GuardedBuffer>((*bytes + 63) / 64 * 64, true));
      const std::unique_ptr<GuardedBuffer> reduced = reduced_for(*kernel, i, *plain_case.inputs[i], at_end);
      void* const original = reduced == nullptr ? buffers[i]->data() : reduced->data();
      EXPECT_TRUE(kernel->pack(i, original, packed.back()->data()).ok());
      inputs[i] = packed.back()->data();
    }
  }
  StatusOr<size_t> scratch_size = kernel->reshape(threads == 0 ? 1 : threads);
  EXPECT_TRUE(scratch_size.ok()) << scratch_size.status().message();
  if (!scratch_size.ok()) {
    return output;
  }
  GuardedBuffer scratch((*scratch_size + 63) / 64 * 64, true);
  std::vector<std::unique_ptr<GuardedBuffer>> targets;
  std::vector<void*> outputs;
  for (const TensorSpec& type : output_types) {
    targets.push_back(std::make_unique<GuardedBuffer>(type.bytes(), at_end));
    outputs.push_back(targets.back()->data());
    // What a kernel did not write must show.
    std::memset(outputs.back(), 0xFE, type.bytes());
  }
  Status status;
  kernel->run(
      {{inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, scratch.data(), pool_of(threads), &status});
  if (refusal != nullptr) {
    *refusal = std::move(status);
  } else {
    EXPECT_TRUE(status.ok()) << status.message();
  }
  if (!output.bytes.empty()) {
    std::memcpy(output.bytes.data(), outputs[plain_case.checked], output.bytes.size());
  }

  for (const auto& target : targets) {
    EXPECT_TRUE(target->intact()) << isa_name() << ": wrote beside its output";
  }
  for (const auto& buffer : packed) {
    EXPECT_TRUE(buffer->intact()) << isa_name() << ": packed beside its buffer";
  }
  EXPECT_TRUE(scratch.intact()) << isa_name() << ": wrote beside its scratch memory";
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(buffers[i]->intact()) << isa_name() << ": wrote beside input " << i;
    const auto& input = plain_case.inputs[i];
    EXPECT_TRUE(
        !input || input->bytes.empty() ||
        std::memcmp(input->bytes.data(), buffers[i]->data(), input->bytes.size()) == 0)
        << isa_name() << ": wrote to input " << i;
  }
  return output;
}

} // namespace

Tensor::Tensor(DType dtype, const Shape& shape) {
  type.dtype = dtype;
  type.shape = shape;
  bytes.resize(type.bytes());
}

Tensor random_floats(const Shape& shape, float low, float high) {
  Tensor tensor(DType::Float32, shape);
  std::uniform_real_distribution<float> distribution(low, high);
  for (size_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<float>()[i] = distribution(generator());
  }
  return tensor;
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  EXPECT_EQ(values.size(), shape.numel());
  return repeated(shape, values);
}

Tensor repeated(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::Float32, shape);
  for (size_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<float>()[i] = values[i % values.size()];
  }
  return tensor;
}

Tensor iota(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < tensor.numel(); ++i) {
    switch (dtype) {
      case DType::Float32:
        tensor.data<float>()[i] = static_cast<float>(i);
        break;
      case DType::Float64:
        tensor.data<double>()[i] = static_cast<double>(i);
        break;
      case DType::Int32:
        tensor.data<int32_t>()[i] = static_cast<int32_t>(i);
        break;
      case DType::Int64:
        tensor.data<int64_t>()[i] = static_cast<int64_t>(i) << 32;
        break;
      case DType::Int8:
      case DType::UInt8:
      case DType::Bool:
        tensor.data<uint8_t>()[i] = static_cast<uint8_t>(i * 7 % 251);
        break;
      case DType::Float16:
      case DType::BFloat16:
        tensor.data<uint16_t>()[i] = static_cast<uint16_t>(i * 7);
        break;
    }
  }
  return tensor;
}

Tensor rounded(Tensor x, DType type) {
  if (is_reduced_float(type)) {
    widen(type, narrowed(x, type).data<uint16_t>(), x.data<float>(), x.numel());
  }
  return x;
}

Tensor narrowed(const Tensor& x, DType type) {
  Tensor y(type, x.shape());
  narrow(type, x.data<float>(), y.data<uint16_t>(), x.numel());
  return y;
}

bool matches(const Tensor& actual, const Tensor& expected, Tolerance tolerance) {
  switch (expected.type.dtype) {
    case DType::Float32:
      return floats_match<float>(actual, expected, tolerance);
    case DType::Float64:
      return floats_match<double>(actual, expected, tolerance);
    default:
      return actual.bytes == expected.bytes;
  }
}

void for_each_isa(const std::function<void()>& function, Isas isas) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    limit_bfloat16_isa(BFloat16Isa::Tiles);
    const BFloat16Isa best = bfloat16_isa();
    for (const BFloat16Isa level : {BFloat16Isa::None, BFloat16Isa::Dot, BFloat16Isa::Tiles}) {
      const bool is_wanted = isas == Isas::Vectors || isas == Isas::WithoutByteDot
          ? level == best
          : isas == Isas::WithBFloat16 || level != BFloat16Isa::None;
      if (level <= best && is_wanted) {
        limit_bfloat16_isa(level);
        function();
      }
    }
  }
  limit_bfloat16_isa(BFloat16Isa::Tiles);
  hwy::SetSupportedTargetsForTest(0);
  if (isas == Isas::WithoutByteDot && has_byte_dot()) {
    limit_byte_dot(false);
    limit_bfloat16_isa(BFloat16Isa::None);
    function();
    limit_bfloat16_isa(BFloat16Isa::Tiles);
    limit_byte_dot(true);
  }
}

Tensor run_kernel(const PlainCase& plain_case, size_t threads) {
  return run_once(plain_case, threads, true);
}

Status try_kernel(const PlainCase& plain_case) {
  Status status;
  const Tensor output = run_once(plain_case, 0, true, &status);
  if (!status.ok()) {
    for (const uint8_t byte : output.bytes) {
      EXPECT_EQ(byte, 0xFE) << "wrote a part of its output";
    }
  }
  return status;
}

void check_kernel(const PlainCase& plain_case, const Tensor& expected, Tolerance tolerance, Isas isas) {
  const auto check = [&] {
    for (const size_t threads : kThreads) {
      for (const bool at_end : kEnds) {
        if (!matches(run_once(plain_case, threads, at_end), expected, tolerance)) {
          return;
        }
      }
    }
  };
  for_each_isa(check, isas);
}

} // namespace executorch::backends::et_xnnpack::testing
