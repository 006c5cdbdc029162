// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Calls with arguments of all kinds: a good one must succeed, a bad one be refused, and neither may change anything for the
// next.

#include <algorithm>
#include <optional>

#include <xnnpack.h>

#include "argument_list.h"
#include "sample_graphs.h"
#include "target.h"
#include "weights.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::elementSize;

constexpr size_t kMaxCalls = 6;

// Made once: loading takes longer than a call.
struct LoadedProgram {
  explicit LoadedProgram(std::vector<uint8_t> bytes)
      : blob_bytes(std::move(bytes)), blob(*open_blob(span(blob_bytes))) {
    types = *infer_types(blob, *planned_sizes(blob.graph()));
    for (const auto& [key, what] : declared_weights(blob, types)) {
      std::vector<uint8_t> data(what.bytes);
      if (what.dtype == DType::Float32) {
        const std::vector<float> numbers = some_numbers(what.bytes / sizeof(float));
        std::memcpy(data.data(), numbers.data(), data.size());
      }
      weights.add(key, std::move(data));
    }
  }
  std::unique_ptr<Method> load(EtXnnpackBackend& backend) const {
    return std::make_unique<Method>(backend, blob_bytes, weights.get_num_keys().get() > 0 ? &weights : nullptr);
  }

  std::vector<std::string> planned_call(Method& loaded) const {
    Call arguments(blob);
    EXPECT_EQ(loaded.execute(arguments.values), Error::Ok);
    return arguments.results();
  }

  std::vector<uint8_t> blob_bytes;
  Blob blob;
  std::vector<TensorType> types; // at the planned sizes
  DataMap weights;
  std::unique_ptr<Method> method; // of a program without states
  std::vector<std::string> results; // of a call with planned sizes and zeros
};

// With memory that ends at an unmapped page.
class Made {
 public:
  explicit Made(const Argument& from)
      : sizes_(from.sizes),
        order_(from.order),
        strides_(from.strides()),
        bytes_(from.elements() > kMaxElements ? 0 : static_cast<size_t>(from.elements()) * elementSize(from.dtype)),
        memory_(bytes_, true),
        is_absent_(from.kind == Argument::Kind::Absent) {
    static ArrayRef<char> text("text", 4);
    switch (from.kind) {
      case Argument::Kind::Tensor:
        impl_.emplace(
            from.dtype,
            static_cast<ssize_t>(sizes_.size()),
            sizes_.data(),
            from.has_data ? memory_.data() : nullptr,
            from.has_order ? order_.data() : nullptr,
            from.has_strides ? strides_.data() : nullptr,
            from.dynamism);
        value_ = EValue(executorch::aten::Tensor(&*impl_));
        break;
      case Argument::Kind::Integer:
        value_ = EValue(from.integer);
        break;
      case Argument::Kind::Double:
        value_ = EValue(1.5);
        break;
      case Argument::Kind::Bool:
        value_ = EValue(true);
        break;
      case Argument::Kind::Text:
        value_ = EValue(&text);
        break;
      case Argument::Kind::None:
      case Argument::Kind::Absent:
        break;
    }
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  EValue* value() {
    return is_absent_ ? nullptr : &value_;
  }
  uint8_t* data() {
    return memory_.data();
  }
  size_t bytes() const {
    return bytes_;
  }
  bool intact() const {
    return memory_.intact();
  }
  const std::vector<int32_t>& sizes() const {
    return sizes_;
  }

 private:
  template <typename T>
  using ArrayRef = executorch::aten::ArrayRef<T>;

  std::vector<int32_t> sizes_; // change with the tensor
  std::vector<uint8_t> order_;
  std::vector<int32_t> strides_;
  const size_t bytes_;
  GuardedBuffer memory_;
  const bool is_absent_;
  std::optional<executorch::aten::TensorImpl> impl_;
  EValue value_;
};

class Attempted {
 public:
  Attempted(EtXnnpackBackend& backend, LoadedProgram& program, const uint8_t* data, size_t size)
      : backend_(backend), program_(program), choices_(data, size) {}

  std::string run() {
    std::unique_ptr<Method> own;
    if (program_.blob.num_states() > 0) {
      own = program_.load(backend_);
    }
    method_ = own != nullptr ? own.get() : program_.method.get();
    for (size_t i = 0; i < kMaxCalls && broken_.empty() && !choices_.is_over(); ++i) {
      ArgumentList list(program_.blob, program_.types);
      for (size_t changes = choices_.below(5); changes > 0; --changes) {
        list.change(choices_);
      }
      call(list);
      for (const Argument& argument : list.arguments()) {
        broken_ += broken_.empty() ? "" : "\n  " + argument.describe();
      }
    }
    if (own == nullptr && broken_.empty()) {
      require(program_.planned_call(*method_) == program_.results, "a good call gives another result than before");
    }
    return broken_;
  }

 private:
  void require(bool kept, const std::string& otherwise) {
    if (!kept && broken_.empty()) {
      broken_ = otherwise;
    }
  }

  void call(ArgumentList& list) {
    const Verdict verdict = list.verdict();
    if (verdict != Verdict::Bad && !list.has_memory()) {
      return;
    }
    std::vector<std::unique_ptr<Made>> made;
    std::vector<EValue*> values;
    std::mt19937 random(choices_.byte());
    for (const Argument& argument : list.arguments()) {
      made.push_back(std::make_unique<Made>(argument));
      values.push_back(made.back()->value());
      std::generate_n(made.back()->data(), made.back()->bytes(), [&] {
        return static_cast<uint8_t>(argument.has_zeros ? 0 : random());
      });
    }
    const auto content = [&](size_t i) { return std::string(made[i]->data(), made[i]->data() + made[i]->bytes()); };
    std::vector<std::string> before;
    for (size_t i = 0; i < made.size(); ++i) {
      before.push_back(content(i));
    }
    const Error error = method_->execute(values);
    for (size_t i = 0; i < made.size(); ++i) {
      require(made[i]->intact(), "bytes around argument " + std::to_string(i) + " have changed");
      if (list.is_input(i) || verdict == Verdict::Bad) {
        require(content(i) == before[i], "argument " + std::to_string(i) + " has changed");
      }
    }
    if (error == Error::Ok) {
      require(verdict != Verdict::Bad, "a bad call succeeds");
      for (size_t i = 0; i < list.results().size() && verdict == Verdict::Good; ++i) {
        require(made[program_.blob.num_inputs() + i]->sizes() == list.results()[i], "a result has other sizes");
      }
      return;
    }
    require(verdict != Verdict::Good, "a good call fails: " + backend_.last_error());
    require(!backend_.last_error().empty(), "an error without a message");
    require(
        error == Error::InvalidArgument,
        "a refused call has code " + std::to_string(static_cast<int>(error)) + ": " + backend_.last_error());
  }

  EtXnnpackBackend& backend_;
  LoadedProgram& program_;
  Choices choices_;
  Method* method_ = nullptr;
  std::string broken_;
};

std::vector<std::unique_ptr<LoadedProgram>> load_programs(EtXnnpackBackend& backend) {
  xnn_initialize(nullptr);
  std::vector<std::unique_ptr<LoadedProgram>> programs;
  for (const SampleGraph& sample : sample_graphs()) {
    programs.push_back(std::make_unique<LoadedProgram>(sample.def.build()));
    LoadedProgram& program = *programs.back();
    program.method = program.load(backend);
    program.results = program.planned_call(*program.method);
  }
  return programs;
}

} // namespace

std::string attempt_arguments(const uint8_t* data, size_t size) {
  static auto* const backend = new EtXnnpackBackend;
  static const auto* const programs = new std::vector<std::unique_ptr<LoadedProgram>>(load_programs(*backend));
  if (size == 0) {
    return "";
  }
  return Attempted(*backend, *(*programs)[data[0] % programs->size()], data + 1, size - 1).run();
}

} // namespace executorch::backends::et_xnnpack::testing
