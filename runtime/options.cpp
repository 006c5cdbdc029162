// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "options.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <variant>

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::CompileSpec;
using executorch::runtime::kMaxOptionValueLength;
using executorch::runtime::OptionValue;

struct Integer {
  int Options::*field;
  int min;
  int max;
};

struct Boolean {
  bool Options::*field;
};

struct Text {
  std::string Options::*field;
};

constexpr const char* kSharings[] = {"none", "model", "global"}; // like WorkspaceSharing

struct Sharing {
  WorkspaceSharing Options::*field;
};

struct Option {
  const char* name;
  std::variant<Integer, Boolean, Text, Sharing> kind;
  // Whether a program may ask for it: what reaches beyond its own methods is for the process or the load to say.
  bool is_for_programs = true;
};

// All are read when a method is loaded.
constexpr Option kOptions[] = {
    // Threads that execute() runs on. 0: those of ExecuTorch's pool. 1: the calling thread.
    {"num_threads", Integer{&Options::num_threads, 0, 1}},
    // Methods of one group share the states of the same name. 0: a method has its own.
    {"state_group", Integer{&Options::state_group, 0, std::numeric_limits<int>::max()}, false},
    // Whether runs of elementwise operators share one pass over memory.
    {"fuse_elementwise", Boolean{&Options::fuse_elementwise}},
    // Whether products run in float16 where the CPU can.
    {"force_fp16", Boolean{&Options::force_fp16}},
    // The largest tiles in which convolutions are computed with fewer multiplications. 0: none.
    {"winograd_tile", Integer{&Options::winograd_tile, 0, 4}},
    // Whether products with constants round both to bfloat16 where the CPU multiplies that faster.
    {"force_bf16", Boolean{&Options::force_bf16}},
    // Whether weights are packed once for all methods and programs of the process.
    {"weight_cache", Boolean{&Options::weight_cache}},
    // A file that keeps packed weights for the next process. Empty: none.
    {"packed_cache_path", Text{&Options::packed_cache_path}, false},
    // Which methods compute in the same memory: none, those of one program, or all.
    {"workspace_sharing", Sharing{&Options::workspace_sharing}},
    // Whether memory for activations is given back when a call needs much less than those before.
    {"shrink_memory", Boolean{&Options::shrink_memory}},
    // Whether an event tracer that is there when the method is loaded gets the time of each operator.
    {"profiling", Boolean{&Options::profiling}},
};

// Insertions, deletions and substitutions that turn one word into the other.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string name_of(const BackendOption& option) {
  return std::string(option.key, strnlen(option.key, sizeof(option.key)));
}

std::string in_lower_case(std::string text) {
  for (char& c : text) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

StatusOr<const Option*> find(const std::string& name) {
  const Option* nearest = &kOptions[0];
  const auto distance = [similar = in_lower_case(name)](const Option& to) { return edit_distance(similar, to.name); };
  for (const Option& option : kOptions) {
    if (name == option.name) {
      return &option;
    }
    if (distance(option) < distance(*nearest)) {
      nearest = &option;
    }
  }
  if (2 * distance(*nearest) > name.size()) {
    return failure(Error::InvalidArgument, "there is no option '%s'", name.c_str());
  }
  return failure(Error::InvalidArgument, "there is no option '%s'; did you mean '%s'?", name.c_str(), nearest->name);
}

// The integer that the text is, or the nearest one that there is room for.
std::optional<long long> integer_in(const std::string& text) {
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0' ? std::optional(number) : std::nullopt;
}

bool fits_int(long long number) {
  return number >= std::numeric_limits<int>::min() && number <= std::numeric_limits<int>::max();
}

StatusOr<std::string> text_in(const char* name, const OptionValue& value) {
  const auto* text = std::get_if<std::array<char, kMaxOptionValueLength>>(&value);
  ETX_CHECK(text != nullptr, InvalidArgument, "option '%s' takes a text", name);
  const size_t length = strnlen(text->data(), text->size());
  // A longer one was cut off there by ExecuTorch.
  ETX_CHECK(length < text->size() - 1, InvalidArgument, "option '%s' takes up to %zu bytes", name, text->size() - 2);
  return std::string(text->data(), length);
}

// An integer as a text: that is how one comes that no int holds. Empty for other values.
std::string integer_beyond_int(const char* name, const OptionValue& value) {
  StatusOr<std::string> text = text_in(name, value);
  const std::optional<long long> number = text.ok() ? integer_in(*text) : std::nullopt;
  return number.has_value() && !fits_int(*number) ? *text : "";
}

Status set(const char* name, const Integer& integer, const OptionValue& value, Options* options) {
  const int* number = std::get_if<int>(&value);
  const std::string text = number != nullptr ? std::to_string(*number) : integer_beyond_int(name, value);
  ETX_CHECK(!text.empty(), InvalidArgument, "option '%s' takes an integer", name);
  ETX_CHECK(
      number != nullptr && *number >= integer.min && *number <= integer.max,
      InvalidArgument,
      "option '%s' takes %d to %d, not %s",
      name,
      integer.min,
      integer.max,
      text.c_str());
  options->*integer.field = *number;
  return {};
}

Status set(const char* name, const Boolean& boolean, const OptionValue& value, Options* options) {
  const bool* truth = std::get_if<bool>(&value);
  ETX_CHECK(truth != nullptr, InvalidArgument, "option '%s' takes true or false", name);
  options->*boolean.field = *truth;
  return {};
}

Status set(const char* name, const Text& text, const OptionValue& value, Options* options) {
  ETX_ASSIGN_OR_RETURN(options->*text.field, text_in(name, value));
  return {};
}

Status set(const char* name, const Sharing& sharing, const OptionValue& value, Options* options) {
  ETX_ASSIGN_OR_RETURN(const std::string text, text_in(name, value));
  for (size_t i = 0; i < std::size(kSharings); ++i) {
    if (text == kSharings[i]) {
      options->*sharing.field = static_cast<WorkspaceSharing>(i);
      return {};
    }
  }
  return failure(Error::InvalidArgument, "option '%s' takes 'none', 'model' or 'global', not '%s'", name, text.c_str());
}

Status set(const Option& option, const OptionValue& value, Options* options) {
  return std::visit([&](const auto& kind) { return set(option.name, kind, value, options); }, option.kind);
}

OptionValue text_value(const std::string& text) {
  std::array<char, kMaxOptionValueLength> value{};
  std::copy_n(text.data(), std::min(text.size(), value.size() - 1), value.data());
  return value;
}

OptionValue get(const Integer& integer, const Options& options) {
  return options.*integer.field;
}
OptionValue get(const Boolean& boolean, const Options& options) {
  return options.*boolean.field;
}
OptionValue get(const Text& text, const Options& options) {
  return text_value(options.*text.field);
}
OptionValue get(const Sharing& sharing, const Options& options) {
  return text_value(kSharings[static_cast<size_t>(options.*sharing.field)]);
}

// The value that this text stands for; the text itself if it stands for none.
OptionValue parse(const Integer&, const std::string& text) {
  const std::optional<long long> number = integer_in(text);
  return number.has_value() && fits_int(*number) ? OptionValue(static_cast<int>(*number)) : text_value(text);
}
OptionValue parse(const Boolean&, const std::string& text) {
  return text == "true" ? OptionValue(true) : text == "false" ? OptionValue(false) : text_value(text);
}
OptionValue parse(const Text&, const std::string& text) {
  return text_value(text);
}
OptionValue parse(const Sharing&, const std::string& text) {
  return text_value(text);
}

} // namespace

Status set_options(Span<const BackendOption> given, Options* options) {
  Options result = *options;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string name = name_of(given[i]);
    for (size_t earlier = 0; earlier < i; ++earlier) {
      ETX_CHECK(name_of(given[earlier]) != name, InvalidArgument, "option '%s' is given twice", name.c_str());
    }
    ETX_ASSIGN_OR_RETURN(const Option* option, find(name));
    ETX_RETURN_IF_ERROR(set(*option, given[i].value, &result));
  }
  *options = std::move(result);
  return {};
}

Status set_options(ArrayRef<CompileSpec> given, Options* options) {
  std::vector<BackendOption> parsed(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const CompileSpec& spec = given[i];
    ETX_CHECK(spec.key != nullptr, InvalidArgument, "there is no option '(null)'");
    ETX_ASSIGN_OR_RETURN(const Option* option, find(spec.key));
    ETX_CHECK(
        option->is_for_programs,
        InvalidArgument,
        "a program cannot ask for option '%s': set it for the process (set_option) or for the load (load options)",
        option->name);
    const std::string text(
        static_cast<const char*>(spec.value.buffer), spec.value.buffer == nullptr ? 0 : spec.value.nbytes);
    // Texts are C strings from here on: what follows a zero byte would be lost.
    ETX_CHECK(
        text.find('\0') == std::string::npos,
        InvalidArgument,
        "option '%s' takes no text with a zero byte",
        option->name);
    std::strncpy(parsed[i].key, option->name, sizeof(parsed[i].key) - 1);
    parsed[i].value = std::visit([&](const auto& kind) { return parse(kind, text); }, option->kind);
  }
  return set_options({parsed.data(), parsed.size()}, options);
}

Status get_options(const Options& options, Span<BackendOption> asked) {
  std::vector<OptionValue> values;
  for (const BackendOption& one : asked) {
    ETX_ASSIGN_OR_RETURN(const Option* option, find(name_of(one)));
    values.push_back(std::visit([&](const auto& kind) { return get(kind, options); }, option->kind));
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    asked[i].value = values[i];
  }
  return {};
}

Status OptionChanges::add(Span<const BackendOption> given) {
  Options checked;
  ETX_RETURN_IF_ERROR(set_options(given, &checked));
  std::vector<BackendOption> changes = changes_;
  for (const BackendOption& one : given) {
    const auto same = [&](const BackendOption& other) { return name_of(other) == name_of(one); };
    changes.erase(std::remove_if(changes.begin(), changes.end(), same), changes.end());
    changes.push_back(one);
  }
  changes_ = std::move(changes);
  return {};
}

} // namespace executorch::backends::et_xnnpack
