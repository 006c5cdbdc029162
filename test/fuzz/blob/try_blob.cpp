// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "try_blob.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <utility>

#include <runtime/execute/executable.h>
#include <runtime/ops/infer.h>
#include <xnnpack.h>

#include "delegate.h"
#include "weights.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::Error;

// What all tensors may take together: good blobs need far less, and larger ones would only take longer.
constexpr size_t kMaxBytes = 1 << 18;
constexpr size_t kMaxCalls = 5;

enum class Content { Zeros, Small, Any, Extreme };

// What the bytes behind a blob decide.
class Choices {
 public:
  explicit Choices(const std::vector<uint8_t>& bytes)
      : bytes_(bytes), options_(next()), seed_(next()), random_(seed_) {}

  bool is_over() const {
    return at_ >= bytes_.size();
  }
  Executable::Settings settings() const {
    Executable::Settings settings;
    settings.force_fp16 = options_ & 4;
    settings.force_bf16 = options_ & 8;
    settings.fuse_elementwise = !(options_ & 16);
    settings.shrink_memory = options_ & 32;
    settings.winograd_tile = options_ & 64 ? 4 : 0;
    return settings;
  }
  bool short_weights() const {
    return options_ & 128;
  }

  bool as_executorch() const {
    return seed_ & 1;
  }

  // Even bytes are how much less than planned, odd ones a size by itself.
  size_t size(size_t planned) {
    const uint8_t byte = next();
    return byte % 2 == 0 ? planned - std::min<size_t>(planned, byte / 2) : byte / 2;
  }
  int64_t integer() {
    const uint8_t byte = next();
    return byte == 128 ? std::numeric_limits<int64_t>::min() : byte == 0 ? 2 : static_cast<int8_t>(byte);
  }

  void fill(uint8_t* data, size_t bytes, DType dtype) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
    if (content() == Content::Zeros) {
      std::fill_n(data, bytes, uint8_t{0});
      return;
    }
    if (content() == Content::Any) {
      std::generate_n(data, bytes, [this] { return static_cast<uint8_t>(random_()); });
      return;
    }
    switch (dtype) {
      case DType::Float32:
        return fill<float>(
            data, bytes, {-2, -1, -0.5f, 0, 0.25f, 1, 3}, {-kInfinity, kInfinity, kNaN, -3e38f, 3e38f, -0.0f, 1e-40f});
      case DType::Float64:
        return fill<double>(data, bytes, {-2, -0.5, 0, 1, 3}, {-1e308, 1e308, -kInfinity, kNaN, -0.0, 1e-310, 3e9});
      case DType::Int64:
        return fill<int64_t>(data, bytes, {0, 1, 2, -1}, {INT64_MIN, INT64_MAX, -1, int64_t{1} << 32});
      case DType::Int32:
        return fill<int32_t>(data, bytes, {0, 1, 2, -1}, {INT32_MIN, INT32_MAX, -1, 1 << 16});
      case DType::Float16:
      case DType::BFloat16:
        return fill<uint16_t>(data, bytes, {0, 0x3c00, 0xbc00}, {0x7c00, 0xfc00, 0x7e00, 1});
      case DType::Bool:
        return fill<uint8_t>(data, bytes, {0, 1}, {0, 1});
      case DType::Int8:
      case DType::UInt8:
        return fill<uint8_t>(data, bytes, {0, 1, 2, 255}, {0, 127, 128, 255});
    }
  }

 private:
  uint8_t next() {
    return at_ < bytes_.size() ? bytes_[at_++] : uint8_t{0};
  }

  Content content() const {
    return static_cast<Content>(options_ & 3);
  }

  template <typename T>
  void fill(uint8_t* data, size_t bytes, std::initializer_list<T> small, std::initializer_list<T> extreme) {
    const std::initializer_list<T>& numbers = content() == Content::Small ? small : extreme;
    for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
      std::memcpy(data + i, numbers.begin() + random_() % numbers.size(), sizeof(T));
    }
  }

  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
  uint8_t options_, seed_;
  std::mt19937 random_;
};

size_t bytes_of(const std::vector<TensorType>& types) {
  size_t bytes = 0;
  for (const TensorType& type : types) {
    bytes += std::min(type.bytes(), kMaxBytes + 1);
  }
  return bytes;
}

// Memory of exactly these sizes, one byte more or less of which a sanitizer sees.
class Memory {
 public:
  uint8_t* add(size_t bytes) {
    blocks_.emplace_back(new uint8_t[bytes]);
    return blocks_.back().get();
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
};

class Attempted {
 public:
  explicit Attempted(const Attempt& attempt) : blob_bytes_(attempt.blob), choices_(attempt.calls) {}

  Trial run() {
    if (open() && load()) {
      for (size_t i = 0; i < kMaxCalls && trial_.broken.empty() && (i == 0 || !choices_.is_over()); ++i) {
        call(i == 0);
      }
      if (choices_.as_executorch() && is_for_executorch()) {
        call_as_executorch();
      }
    }
    return std::move(trial_);
  }

 private:
  void require(bool kept, const std::string& otherwise) {
    if (!kept && trial_.broken.empty()) {
      trial_.broken = otherwise;
    }
  }
  void require_message(const Status& status) {
    require(!status.message().empty(), "an error without a message");
  }

  bool open() {
    StatusOr<Blob> blob = open_blob({blob_bytes_.data(), blob_bytes_.size()});
    if (!blob.ok()) {
      const Error code = blob.status().code();
      require_message(blob.status());
      require(
          code == Error::InvalidProgram || code == Error::DelegateInvalidCompatibility || code == Error::NotSupported,
          "a refused blob has code " + std::to_string(static_cast<int>(code)) + ": " + blob.status().message());
      return false;
    }
    StatusOr<Sizes> sizes = planned_sizes(blob->graph());
    StatusOr<std::vector<TensorType>> types =
        sizes.ok() ? infer_types(*blob, *sizes) : StatusOr<std::vector<TensorType>>(sizes.status());
    require(types.ok(), "no types at the planned sizes of a blob that was opened");
    if (!types.ok()) {
      return false;
    }
    planned_ = std::move(*types);
    trial_.end = Trial::End::TooLarge;
    if (bytes_of(planned_) > kMaxBytes || may_find_much(*blob)) {
      return false;
    }
    blob_ = std::make_unique<Blob>(std::move(*blob));
    return true;
  }

  static bool may_find_much(const Blob& blob) {
    const auto* ranges = blob.graph().ranges();
    return blob.waves().num_found() > 0 &&
        std::any_of(ranges->begin(), ranges->end(), [](const schema::DimRange* range) { return range->max() > 4096; });
  }

  // Data for every key, as much as the largest constant that names it declares.
  bool add_weights() {
    const std::map<std::string, DeclaredWeight> declared = declared_weights(*blob_, planned_);
    for (const auto& [key, what] : declared) {
      std::vector<uint8_t> data(what.bytes - (choices_.short_weights() && what.bytes > 0 ? 1 : 0));
      choices_.fill(data.data(), data.size(), what.dtype);
      weights_.add(key, std::move(data));
    }
    return !declared.empty();
  }

  bool load() {
    const bool named = add_weights();
    StatusOr<std::unique_ptr<Executable>> executable =
        Executable::create(*blob_, named ? &weights_ : nullptr, choices_.settings());
    trial_.end = executable.ok() ? Trial::End::Loaded : Trial::End::NotLoaded;
    if (!executable.ok()) {
      require_message(executable.status());
      return false;
    }
    executable_ = std::move(*executable);
    return true;
  }

  // Sizes of all arguments, those that were planned in the first call.
  std::vector<ArgumentSize> sizes(bool planned) {
    std::vector<ArgumentSize> arguments;
    for (uint32_t i = 0; i < blob_->num_inputs(); ++i) {
      const uint32_t id = blob_->graph().inputs()->Get(i)->value();
      ArgumentSize argument;
      argument.integer = 2;
      if (id != kNone) {
        argument.shape = planned_[id].shape;
      } else if (!planned) {
        argument.integer = choices_.integer();
      }
      for (size_t axis = 0; !planned && axis < argument.shape.rank; ++axis) {
        argument.shape[axis] = choices_.size(argument.shape[axis]);
      }
      arguments.push_back(argument);
    }
    return arguments;
  }

  // Those that do not depend on data.
  StatusOr<std::vector<TensorType>> first_types(const Sizes& sizes) const {
    std::vector<TensorType> types;
    ETX_RETURN_IF_ERROR(infer_wave(*blob_, sizes, /*wave=*/0, types));
    return types;
  }

  void call(bool planned) {
    const std::vector<ArgumentSize> arguments = sizes(planned);
    const Span<const ArgumentSize> inputs(arguments.data(), arguments.size());
    StatusOr<Sizes> evaluated = evaluate_sizes(blob_->graph(), inputs);
    StatusOr<std::vector<TensorType>> types =
        evaluated.ok() ? first_types(*evaluated) : StatusOr<std::vector<TensorType>>(evaluated.status());
    if (types.ok() && bytes_of(*types) > kMaxBytes) {
      trial_.end = Trial::End::TooLarge;
      return;
    }
    Status status = executable_->reshape(inputs, nullptr);
    require(types.ok() || !status.ok(), "sizes that the graph cannot have were accepted");
    if (status.ok() && executable_->arena_bytes() <= 64 * kMaxBytes) {
      status = run_twice(arguments);
    }
    if (!status.ok()) {
      require_message(status);
    }
    ++(status.ok() ? trial_.ran : trial_.failed);
  }

  // A call that is repeated writes the same, and all of it, whatever was there before. States may change it.
  Status run_twice(const std::vector<ArgumentSize>& arguments) {
    Memory memory;
    std::vector<const void*> inputs;
    for (uint32_t i = 0; i < blob_->num_inputs(); ++i) {
      const uint32_t id = blob_->graph().inputs()->Get(i)->value();
      if (id == kNone) {
        inputs.push_back(nullptr);
        continue;
      }
      TensorType type = planned_[id];
      type.shape = arguments[i].shape;
      uint8_t* const data = memory.add(type.bytes());
      choices_.fill(data, type.bytes(), type.storage());
      inputs.push_back(data);
    }
    std::vector<uint8_t> first;
    for (const uint8_t before : {uint8_t{0}, uint8_t{0xff}}) {
      std::vector<void*> outputs(blob_->num_outputs());
      const auto prepare = [&](size_t i, const TensorType& type) -> StatusOr<void*> {
        outputs[i] = memory.add(type.bytes());
        std::fill_n(static_cast<uint8_t*>(outputs[i]), type.bytes(), before);
        return outputs[i];
      };
      for (size_t i = 0; i < blob_->num_outputs(); ++i) {
        if (!executable_->finds_output_type(i)) {
          (void)prepare(i, executable_->output_type(i));
        }
      }
      const std::vector<void*> known = outputs;
      ETX_RETURN_IF_ERROR(executable_->run({inputs.data(), inputs.size()}, {known.data(), known.size()}, prepare));
      std::vector<uint8_t> result;
      for (size_t i = 0; i < outputs.size(); ++i) {
        const auto* data = static_cast<const uint8_t*>(outputs[i]);
        result.insert(result.end(), data, data + executable_->output_type(i).bytes());
      }
      require(before == 0 || blob_->num_states() > 0 || result == first, "the same call gives another result");
      first = std::move(result);
    }
    return {};
  }

  // Whether ExecuTorch has tensors of the planned sizes, which it and their strides keep in 32 bits, also where one is 0.
  bool is_for_executorch() const {
    constexpr auto kLargest = static_cast<size_t>(std::numeric_limits<int32_t>::max());
    const auto fits = [&](const auto* arguments) {
      return arguments == nullptr || std::all_of(arguments->begin(), arguments->end(), [&](const auto* argument) {
               size_t product = 1;
               for (size_t axis = 0; argument->value() != kNone && axis < planned_[argument->value()].shape.rank;
                    ++axis) {
                 const size_t size = std::max<size_t>(planned_[argument->value()].shape[axis], 1);
                 if (size > kLargest / product) {
                   return false;
                 }
                 product *= size;
               }
               return true;
             });
    };
    return fits(blob_->graph().inputs()) && fits(blob_->graph().outputs());
  }

  // The same through the interface of backends, with arguments that end at unmapped pages, which XNNPACK sees, too.
  void call_as_executorch() {
    EtXnnpackBackend backend;
    Method method(backend, blob_bytes_, weights_.get_num_keys().get() > 0 ? &weights_ : nullptr);
    if (method.error != Error::Ok) {
      return;
    }
    Call arguments(*blob_);
    for (const auto& tensor : arguments.tensors) {
      choices_.fill(tensor->data<uint8_t>(), tensor->bytes(), DType::Float32);
    }
    for (int call = 0; call < 2; ++call) {
      if (method.execute(arguments.values) != Error::Ok) {
        require(!backend.last_error().empty(), "an error without a message");
      }
    }
    for (const auto& tensor : arguments.tensors) {
      require(tensor->intact(), "bytes around an argument have changed");
    }
  }

  const std::vector<uint8_t>& blob_bytes_;
  Choices choices_;
  Trial trial_;
  DataMap weights_;
  std::vector<TensorType> planned_;
  std::unique_ptr<Blob> blob_;
  std::unique_ptr<Executable> executable_;
};

} // namespace

Trial try_blob(const Attempt& attempt) {
  [[maybe_unused]] static const xnn_status initialized = xnn_initialize(nullptr);
  return Attempted(attempt).run();
}

} // namespace executorch::backends::et_xnnpack::testing
