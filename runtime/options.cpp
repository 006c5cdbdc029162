// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "options.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace executorch::backends::et_xnnpack {
namespace {

struct Integer {
  const char* name;
  int Options::*field;
  int min;
  int max;
};

constexpr Integer kIntegers[] = {
    // Threads that execute() runs on. 0: those of ExecuTorch's pool. 1: the calling thread.
    {"num_threads", &Options::num_threads, 0, 1},
    // Methods of one group share the states of the same name. 0: a method has its own.
    {"state_group", &Options::state_group, 0, std::numeric_limits<int>::max()},
    // Whether runs of elementwise operators share one pass over memory. Read when a method is loaded.
    {"fuse_elementwise", &Options::fuse_elementwise, 0, 1},
    // Whether weights are packed once for all methods and programs of the process.
    {"weight_cache", &Options::weight_cache, 0, 1},
};

std::string name_of(const BackendOption& option) {
  return std::string(option.key, strnlen(option.key, sizeof(option.key)));
}

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

StatusOr<const Integer*> find(const std::string& name) {
  const Integer* nearest = &kIntegers[0];
  for (const Integer& option : kIntegers) {
    if (name == option.name) {
      return &option;
    }
    if (edit_distance(name, option.name) < edit_distance(name, nearest->name)) {
      nearest = &option;
    }
  }
  return failure(
      Error::InvalidArgument, "there is no option '%s'; did you mean '%s'?", name.c_str(), nearest->name);
}

} // namespace

Status set_options(Span<const BackendOption> given, Options* options) {
  Options result = *options;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string name = name_of(given[i]);
    for (size_t earlier = 0; earlier < i; ++earlier) {
      ETX_CHECK(name_of(given[earlier]) != name, InvalidArgument, "option '%s' is given twice", name.c_str());
    }
    ETX_ASSIGN_OR_RETURN(const Integer* option, find(name));
    const int* value = std::get_if<int>(&given[i].value);
    ETX_CHECK(value != nullptr, InvalidArgument, "option '%s' takes an integer", name.c_str());
    ETX_CHECK(
        *value >= option->min && *value <= option->max,
        InvalidArgument,
        "option '%s' takes %d to %d, not %d",
        name.c_str(),
        option->min,
        option->max,
        *value);
    result.*(option->field) = *value;
  }
  *options = result;
  return {};
}

Status get_options(const Options& options, Span<BackendOption> asked) {
  std::vector<int> values;
  for (const BackendOption& one : asked) {
    ETX_ASSIGN_OR_RETURN(const Integer* option, find(name_of(one)));
    values.push_back(options.*(option->field));
  }
  for (size_t i = 0; i < asked.size(); ++i) {
    asked[i].value = values[i];
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
