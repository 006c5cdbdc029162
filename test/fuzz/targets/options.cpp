// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Options of all names, types and values, from the program, the process, the thread and the load. Those that are refused change
// nothing; those that are taken can be read, and a model that is loaded with them computes what it always does.

#include <algorithm>
#include <cmath>

#include <unistd.h>

#include <runtime/options.h>

#include "choices.h"
#include "delegate.h"
#include "sample_graphs.h"
#include "target.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::CompileSpec;
using executorch::runtime::kMaxOptionValueLength;
using executorch::runtime::OptionValue;

constexpr const char* kNames[] = {
    "num_threads",
    "state_group",
    "fuse_elementwise",
    "force_fp16",
    "winograd_tile",
    "force_bf16",
    "weight_cache",
    "packed_cache_path",
    "workspace_sharing",
    "shrink_memory",
    "profiling"};
constexpr const char* kOtherNames[] = {"", "num_thread", "Num_threads", "state_group ", "\xff", "a\nb", "%s%n"};
constexpr const char* kTexts[] = {
    "",
    "true",
    "false",
    "0",
    "1",
    "2",
    "4",
    "-1",
    "none",
    "model",
    "global",
    "True",
    " 1",
    "1 ",
    "99999999999999999999",
    "\xfe",
    "a\nb",
    "%n%s",
    "packed"};
constexpr int kIntegers[] = {0, 1, 2, 3, 4, 5, -1, 255, INT32_MAX, INT32_MIN};
constexpr const char* kOfTheProcess[] = {"packed_cache_path", "state_group"}; // which no program may choose

std::string name_from(Choices& choices) {
  switch (choices.below(8)) {
    case 0:
      return choices.of(kOtherNames);
    case 1:
      return choices.text();
    default:
      return choices.of(kNames);
  }
}

std::string text_from(Choices& choices) {
  return choices.below(4) == 0 ? choices.text() : choices.of(kTexts);
}

BackendOption option_from(Choices& choices) {
  BackendOption option{};
  const std::string name = name_from(choices);
  std::copy_n(name.data(), std::min(name.size(), sizeof(option.key)), option.key); // maybe without an end
  switch (choices.below(4)) {
    case 0:
      option.value = choices.below(2) == 1;
      break;
    case 1:
      option.value = choices.below(4) == 0 ? choices.number<int>() : choices.of(kIntegers);
      break;
    default: {
      std::array<char, kMaxOptionValueLength> text{};
      const std::string content = text_from(choices);
      std::copy_n(content.data(), std::min(content.size(), text.size()), text.data());
      option.value = text;
    }
  }
  return option;
}

std::string name_of(const BackendOption& option) {
  return {option.key, strnlen(option.key, sizeof(option.key))};
}

// All that there is, by name.
std::vector<OptionValue> values_of(const Options& options) {
  std::vector<BackendOption> asked;
  for (const char* name : kNames) {
    asked.push_back(option(name, 0));
  }
  EXPECT_TRUE(get_options(options, {asked.data(), asked.size()}).ok());
  std::vector<OptionValue> values;
  for (const BackendOption& one : asked) {
    values.push_back(one.value);
  }
  return values;
}

// What the compile specs of a program hold, and the memory that they are in.
struct Specs {
  explicit Specs(Choices& choices) {
    const size_t count = choices.below(4);
    names.reserve(count); // so that they stay where they are
    texts.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      names.push_back(name_from(choices));
      texts.push_back(text_from(choices));
      const size_t absent = choices.below(16);
      specs.push_back(
          {absent == 1 ? nullptr : names.back().c_str(),
           {absent == 2 ? nullptr : texts.back().data(), texts.back().size()}});
    }
  }

  std::vector<std::string> names, texts;
  std::vector<CompileSpec> specs;
};

class Attempted {
 public:
  Attempted(const uint8_t* data, size_t size) : choices_(data, size) {}

  std::string run() {
    process();
    program_and_load();
    return broken_;
  }

 private:
  void require(bool kept, const std::string& otherwise) {
    if (!kept && broken_.empty()) {
      broken_ = otherwise;
    }
  }
  void require_refusal(Error code, const std::string& message) {
    require(code == Error::InvalidArgument, "refused with code " + std::to_string(static_cast<int>(code)));
    require(!message.empty(), "an error without a message");
    require(
        std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }),
        "a message that cannot be printed");
  }

  // The values of the list, and that they are in their ranges.
  void require_set(const std::vector<BackendOption>& list, const Options& options) {
    const std::vector<OptionValue> values = values_of(options);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto at = std::find(std::begin(kNames), std::end(kNames), name_of(list[i]));
      require(at != std::end(kNames), "an option that there is not is taken");
      if (at == std::end(kNames)) {
        return;
      }
      const OptionValue& value = values[static_cast<size_t>(at - std::begin(kNames))];
      const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&list[i].value);
      const auto* read = std::get_if<std::array<char, kMaxOptionValueLength>>(&value);
      require(
          text != nullptr ? read != nullptr && std::strncmp(text->data(), read->data(), text->size()) == 0
                          : value == list[i].value,
          "an option reads other than it was set");
      for (size_t k = 0; k < i; ++k) {
        require(name_of(list[k]) != name_of(list[i]), "an option that is given twice is taken");
      }
    }
    require(
        options.num_threads >= 0 && options.num_threads <= 1 && options.state_group >= 0 &&
            options.winograd_tile >= 0 && options.winograd_tile <= 4,
        "an option is out of range");
  }

  void process() {
    Options options;
    for (size_t rounds = choices_.below(4); rounds > 0; --rounds) {
      std::vector<BackendOption> list;
      for (size_t count = choices_.below(4); count > 0; --count) {
        list.push_back(option_from(choices_));
      }
      const std::vector<OptionValue> before = values_of(options);
      const Status status = set_options(Span<const BackendOption>(list.data(), list.size()), &options);
      if (status.ok()) {
        require_set(list, options);
      } else {
        require_refusal(status.code(), status.message());
        require(values_of(options) == before, "options that are refused change some");
      }
      OptionChanges changes;
      require(changes.add({list.data(), list.size()}).ok() == status.ok(), "options are taken once and refused once");
    }
  }

  // Through ExecuTorch's interface.
  void program_and_load() {
    static const std::vector<uint8_t> blob = small_graph().build();
    static const DataMap& weights = *[] {
      auto* map = new DataMap;
      map->add("w", some_numbers(12));
      return map;
    }();
    const Specs specs(choices_);
    std::vector<BackendOption> of_thread, of_load;
    for (std::vector<BackendOption>* list : {&of_thread, &of_load}) {
      for (size_t count = choices_.below(3); count > 0; --count) {
        list->push_back(option_from(choices_));
      }
      // No file but in a folder that is not there.
      for (BackendOption& one : *list) {
        auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&one.value);
        if (text != nullptr && name_of(one) == "packed_cache_path") {
          std::copy_n("/no/such/", 9, text->begin());
        }
      }
    }
    EtXnnpackBackend backend;
    const Error of_specs = backend.check_specs({specs.specs.data(), specs.specs.size()});
    if (of_specs != Error::Ok) {
      require_refusal(of_specs, backend.last_error());
    } else {
      for (const CompileSpec& spec : specs.specs) {
        for (const char* name : kOfTheProcess) {
          require(std::strcmp(spec.key, name) != 0, "a program chooses what only the process may");
        }
      }
    }
    const Error thread = backend.set_load_options({of_thread.data(), of_thread.size()});
    if (thread != Error::Ok) {
      require_refusal(thread, backend.last_error());
    }
    Options checked;
    const Status load = set_options(Span<const BackendOption>(of_load.data(), of_load.size()), &checked);
    {
      Method method(backend, blob, &weights, of_load, {specs.specs.data(), specs.specs.size()});
      const bool is_good = of_specs == Error::Ok && load.ok();
      require((method.error == Error::Ok) == is_good, "a load takes what is refused alone, or the reverse");
      if (method.error == Error::Ok) {
        compute(method);
      } else {
        require_refusal(method.error, backend.last_error());
      }
    }
    require(backend.set_load_options({}) == Error::Ok, "options of the thread do not go");
  }

  void compute(Method& method) {
    static const Blob blob = *open_blob(span(small_graph().build()));
    static std::vector<float> expected;
    Call call(blob);
    const std::vector<float> numbers = some_numbers(call.tensors[0]->bytes() / sizeof(float), 5);
    std::memcpy(call.tensors[0]->data<float>(), numbers.data(), call.tensors[0]->bytes());
    require(method.execute(call.values) == Error::Ok, "a call fails because of options");
    const std::vector<float> actual = call.tensors[1]->numbers();
    if (expected.empty()) {
      expected = actual;
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      require(std::fabs(actual[i] - expected[i]) <= 0.05f, "options make a result wrong"); // of 8 bits at least
    }
  }

  Choices choices_;
  std::string broken_;
};

} // namespace

std::string attempt_options(const uint8_t* data, size_t size) {
  return Attempted(data, size).run();
}

} // namespace executorch::backends::et_xnnpack::testing
