// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "op_test.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include <gmock/gmock.h>
#include <runtime/kernels/common/parallel.h>
#include <runtime/kernels/simd/reduced_float.h>
#include <runtime/xnnpack/library.h>

#include "../guarded_buffer.h"
#include "../xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr uint32_t kNoValue = UINT32_MAX;

std::vector<float> small_numbers(size_t count) {
  std::vector<float> numbers(count);
  uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(state >> 8) / (1 << 23) - 1;
  }
  return numbers;
}

// With what XNNPACK may read behind the end.
std::vector<float> padded(std::vector<float> data) {
  data.resize(data.size() + XNN_EXTRA_BYTES / sizeof(float));
  return data;
}

void expect_ok(const Status& status) {
  EXPECT_TRUE(status.ok()) << status.message();
}

// The constants of a case. All that load() gives is spoiled when this goes.
class OperandSource : public ConstantSource {
 public:
  explicit OperandSource(const std::vector<std::vector<float>>& data) : data_(data) {}
  ~OperandSource() override {
    for (std::vector<float>& data : loaded_) {
      std::fill(data.begin(), data.end(), std::numeric_limits<float>::quiet_NaN());
    }
  }

  std::string identity(size_t i) const override {
    return std::to_string(i);
  }
  StatusOr<ConstantData> load(size_t i) const override {
    loaded_.push_back(data_[i]);
    return ConstantData{loaded_.back().data(), nullptr};
  }
  StatusOr<ConstantData> load_reduced(size_t i, DType type) const override {
    std::vector<float>& rounded = loaded_.emplace_back(data_[i].size());
    narrow(type, data_[i].data(), rounded.data(), data_[i].size());
    return ConstantData{rounded.data(), nullptr};
  }
  StatusOr<Buffer> allocate(size_t bytes) const override {
    return Buffer::allocate(bytes);
  }
  StatusOr<PackedMemory> find_or_pack(const std::string&, const Measure&, const Pack& pack) override {
    return pack();
  }

 private:
  const std::vector<std::vector<float>>& data_;
  mutable std::deque<std::vector<float>> loaded_;
};

std::vector<float> narrowed(const std::vector<float>& numbers) {
  std::vector<float> result(numbers.size());
  narrow(DType::Float16, numbers.data(), result.data(), numbers.size());
  return result;
}

// Bit by bit, so that NaN equals NaN.
bool is_same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

class OpCase::Context {
 public:
  Context(const OpCase& op, const TensorType& output) : output_(output) {
    constant_ = std::make_unique<bool[]>(op.operands_.size());
    for (size_t i = 0; i < op.operands_.size(); ++i) {
      const Operand& operand = op.operands_[i];
      inputs_.push_back(operand.type ? &*operand.type : nullptr);
      constant_[i] = operand.is_constant;
    }
    context_.emplace(
        op.node(),
        Span<const TensorType* const>(inputs_.data(), inputs_.size()),
        Span<const bool>(constant_.get(), inputs_.size()),
        Span<const TensorType>(&output_, 1),
        op.sizes_);
  }
  const NodeContext& operator*() const {
    return *context_;
  }

 private:
  TensorType output_;
  std::vector<const TensorType*> inputs_;
  std::unique_ptr<bool[]> constant_;
  std::optional<NodeContext> context_;
};

void OpCase::finish(schema::Attributes type, Offset<void> attributes) {
  std::vector<uint32_t> inputs;
  for (uint32_t i = 0; i < operands_.size(); ++i) {
    inputs.push_back(operands_[i].type ? i : kNoValue);
  }
  std::vector<uint32_t> outputs;
  for (size_t i = 0; i < num_outputs_; ++i) {
    outputs.push_back(static_cast<uint32_t>(operands_.size() + i));
  }
  builder_.Finish(schema::CreateNodeDirect(builder_, type, attributes, &inputs, &outputs));
}

StatusOr<TensorType> OpCase::infer() const {
  ETX_ASSIGN_OR_RETURN(const std::vector<TensorType> outputs, infer_all());
  return outputs[0];
}

StatusOr<std::vector<TensorType>> OpCase::infer_all() const {
  std::vector<TensorType> outputs(num_outputs_);
  const Context context(*this, outputs[0]);
  ETX_RETURN_IF_ERROR(op().infer(*context, {outputs.data(), outputs.size()}));
  return outputs;
}

Cpu cpu_with_blocks(bool has_blocks) {
  Cpu cpu = Cpu::get();
  const size_t from = has_blocks ? 0 : Cpu::Blocks::kNever;
  cpu.blocks = {from, from, from, from};
  cpu.int8_arithmetic_in_rows = cpu.float32_windows = has_blocks;
  cpu.unpacked_rows = cpu.short_softmax_rows = has_blocks ? 4 : 0;
  return cpu;
}

Choice OpCase::choose(const TensorType& output, bool xnnpack) const {
  ChoiceOptions options;
  options.xnnpack = xnnpack;
  options.views = xnnpack;
  options.float16 = true;
  return choose(output, options);
}

Choice OpCase::choose(const TensorType& output, const ChoiceOptions& options, const Cpu& cpu) const {
  return op().choose(*Context(*this, output), cpu, options);
}

bool OpCase::in_xnnpack() const {
  StatusOr<TensorType> output = infer();
  EXPECT_TRUE(output.ok()) << output.status().message();
  return output.ok() && in_xnnpack(*output);
}

bool OpCase::in_xnnpack(const TensorType& output) const {
  return choose(output).kind == Choice::Kind::Xnnpack;
}

bool OpCase::lacks_part() const {
  StatusOr<TensorType> output = infer();
  return is_xnnpack_of_executorch() && output.ok() && choose(*output).reason.rfind(kLacksPart, 0) == 0;
}

bool OpCase::in_float16() const {
  StatusOr<TensorType> output = infer();
  return output.ok() && Cpu::get().float16 && choose(*output).float16;
}

std::vector<float> OpCase::run_in_xnnpack(bool float16, pthreadpool_t pool) const {
  const TensorType output = *infer();
  const Context context(*this, output);
  std::vector<std::vector<float>> data;
  for (const Operand& operand : operands_) {
    const size_t count = operand.type ? operand.type->shape.numel() : 0;
    data.push_back(padded(operand.data.empty() ? small_numbers(count) : operand.data));
  }
  const std::unique_ptr<Kernel> kernel = choose(output).make_xnnpack(*context, float16);
  EXPECT_NE(kernel, nullptr);
  {
    OperandSource source(data);
    expect_ok(kernel->load(*context, source));
  }
  std::vector<const void*> inputs;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const bool is_gone = operands_[i].is_constant && kernel->consumes(*context, i);
    if (float16 && operands_[i].type && !is_gone) {
      data[i] = narrowed(data[i]);
    }
    inputs.push_back(operands_[i].type && !is_gone ? data[i].data() : nullptr);
  }
  kernel->use_pool(pool);
  StatusOr<size_t> scratch_bytes = kernel->reshape(*context, threads_of(pool));
  expect_ok(scratch_bytes.status());
  if (!scratch_bytes.ok()) {
    return {};
  }
  const size_t count = output.shape.numel();
  std::vector<float> result;
  // Once more at other addresses, from soiled memory. Behind the output nothing may be read, unless the kernel says so.
  for (int run = 0; run < 2; ++run) {
    StatusOr<Buffer> scratch = Buffer::allocate(*scratch_bytes), with_tail = Buffer::allocate(count * sizeof(float));
    GuardedBuffer guarded(count * (float16 ? sizeof(uint16_t) : sizeof(float)), /*at_end=*/true);
    std::fill_n(scratch->data(), *scratch_bytes, '\x7f');
    void* const y = kernel->reads_output() ? static_cast<void*>(with_tail->data()) : guarded.data();
    void* outputs[] = {y};
    Status status;
    kernel->run({{inputs.data(), inputs.size()}, {outputs, 1}, scratch->data(), pool, &status});
    expect_ok(status);
    std::vector<float> got(count);
    if (float16) {
      widen(DType::Float16, y, got.data(), count);
    } else {
      std::memcpy(got.data(), y, count * sizeof(float));
    }
    EXPECT_TRUE(run == 0 || is_same(got, result));
    result = got;
  }
  return result;
}

std::vector<float> OpCase::run_kernel() const {
  const TensorType output = *infer();
  const Context context(*this, output);
  std::vector<std::vector<float>> data;
  std::vector<const void*> inputs;
  for (const Operand& operand : operands_) {
    data.push_back(operand.data.empty() && operand.type ? small_numbers(operand.type->shape.numel()) : operand.data);
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    inputs.push_back(operands_[i].type ? data[i].data() : nullptr);
  }
  const std::unique_ptr<Kernel> kernel = choose(output, /*xnnpack=*/false).make(*context);
  EXPECT_NE(kernel, nullptr);
  std::vector<std::vector<float>> packed;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].type && (*context).is_constant(i) && kernel->packed_layout(*context, i).has_value()) {
      packed.emplace_back(kernel->packed_bytes(*context, i) / sizeof(float));
      std::vector<uint16_t> reduced;
      const DType type = kernel->packed_from(*context, i);
      if (type != (*context).input(i).storage()) {
        reduced.resize(data[i].size());
        narrow(type, data[i].data(), reduced.data(), reduced.size());
        inputs[i] = reduced.data();
      }
      EXPECT_TRUE(kernel->pack(*context, i, inputs[i], packed.back().data()).ok());
      inputs[i] = packed.back().data();
    }
  }
  StatusOr<size_t> scratch_bytes = kernel->reshape(*context, 1);
  expect_ok(scratch_bytes.status());
  std::vector<float> result(output.shape.numel());
  void* outputs[] = {result.data()};
  std::vector<char> scratch(*scratch_bytes + 64);
  const auto address = reinterpret_cast<uintptr_t>(scratch.data());
  Status status;
  kernel->run(
      {{inputs.data(), inputs.size()}, {outputs, 1}, scratch.data() + (64 - address % 64), /*pool=*/nullptr, &status});
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

void expect_types(const OpCase& op, const std::vector<std::string>& types) {
  StatusOr<std::vector<TensorType>> outputs = op.infer_all();
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<std::string> texts;
  for (const TensorType& type : *outputs) {
    texts.push_back(type.to_string());
  }
  EXPECT_EQ(texts, types);
}

void expect_shape(const OpCase& op, const Shape& shape) {
  StatusOr<TensorType> output = op.infer();
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->to_string(), (TensorType{DType::Float32, shape}.to_string()));
}

void expect_refused(const OpCase& op, const std::string& part) {
  StatusOr<TensorType> output = op.infer();
  ASSERT_FALSE(output.ok()) << "inferred " << output->to_string();
  EXPECT_EQ(output.status().code(), Error::InvalidProgram);
  EXPECT_THAT(output.status().message(), ::testing::HasSubstr(part));
}

void expect_close(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const float x = actual[i];
    const float y = expected[i];
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance * std::max(1.0f, std::fabs(y));
    EXPECT_TRUE(same) << "element " << i << " is " << x << " instead of " << y;
  }
}

// XNNPACK's result, which is the same on several threads.
std::vector<float> run_on_any_threads(const OpCase& op, bool float16) {
  const std::vector<float> result = op.run_in_xnnpack(float16);
  const std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> pool(pthreadpool_create(3), pthreadpool_destroy);
  EXPECT_TRUE(is_same(op.run_in_xnnpack(float16, pool.get()), result));
  return result;
}

void expect_agreement_in_float16(const OpCase& op) {
  if (Cpu::get().float16) {
    expect_agreement(op);
  } else {
    EXPECT_FALSE(op.in_xnnpack());
  }
}

void expect_agreement(const OpCase& op, float tolerance) {
  if (op.lacks_part()) {
    return; // nobody has it computed by XNNPACK
  }
  ASSERT_TRUE(op.in_xnnpack());
  const std::vector<float> expected = op.run_kernel();
  expect_close(run_on_any_threads(op, /*float16=*/false), expected, tolerance);
  const auto fits = [](const std::vector<float>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::fabs(x) < 1000; });
  };
  bool all_fit = fits(expected);
  for (size_t i = 0; i < op.num_operands(); ++i) {
    all_fit = all_fit && fits(op.data(i));
  }
  if (all_fit && op.in_float16()) {
    SCOPED_TRACE("float16");
    expect_close(run_on_any_threads(op, /*float16=*/true), expected, 1e-2f);
  }
}

} // namespace executorch::backends::et_xnnpack::testing
