// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "argument_list.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace executorch::backends::et_xnnpack::testing {
namespace {

using DimOrder = flatbuffers::Vector<uint8_t>;

// ExecuTorch's own assertions end the process when anybody asks a tensor for an order or strides that it lacks.
#ifdef NDEBUG
constexpr bool kMayBeAbsent = true;
#else
constexpr bool kMayBeAbsent = false;
#endif

constexpr ScalarType kTypes[] = {
    ScalarType::Float,
    ScalarType::Byte,
    ScalarType::Char,
    ScalarType::Short,
    ScalarType::Int,
    ScalarType::Long,
    ScalarType::Half,
    ScalarType::Double,
    ScalarType::Bool,
    ScalarType::BFloat16};
constexpr int32_t kSizes[] = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 20, 21, 64, 255, 256, 65536, 1 << 30, INT32_MAX};
constexpr int64_t kIntegers[] = {
    0, 1, 2, 3, 4, 7, 8, 64, -1, -2, INT32_MAX, INT32_MIN, int64_t{1} << 32, INT64_MAX, INT64_MIN};
constexpr TensorShapeDynamism kDynamisms[] = {
    TensorShapeDynamism::DYNAMIC_BOUND, TensorShapeDynamism::STATIC, TensorShapeDynamism::DYNAMIC_UNBOUND};
constexpr Argument::Kind kKinds[] = {
    Argument::Kind::Tensor,
    Argument::Kind::Integer,
    Argument::Kind::Double,
    Argument::Kind::Bool,
    Argument::Kind::None,
    Argument::Kind::Text,
    Argument::Kind::Absent};

std::vector<int32_t> strides_of(const std::vector<int32_t>& sizes, const std::vector<uint8_t>& order) {
  std::vector<int32_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (order[i] < sizes.size()) {
      strides[order[i]] = static_cast<int32_t>(stride);
      stride = (stride * std::max(sizes[order[i]], 1)) & INT32_MAX;
    }
  }
  return strides;
}

std::vector<uint8_t> order_of(const DimOrder* declared, size_t rank) {
  std::vector<uint8_t> order(rank);
  std::iota(order.begin(), order.end(), uint8_t{0});
  return declared == nullptr ? order : std::vector<uint8_t>(declared->begin(), declared->end());
}

} // namespace

bool Argument::is_permutation() const {
  std::vector<uint8_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != i) {
      return false;
    }
  }
  return true;
}

double Argument::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
}

std::vector<int32_t> Argument::strides() const {
  std::vector<int32_t> strides = strides_of(sizes, order);
  for (const auto& [axis, stride] : other_strides) {
    if (axis < strides.size()) {
      strides[axis] = stride;
    }
  }
  return strides;
}

std::string Argument::describe() const {
  constexpr const char* kNames[] = {"tensor", "integer", "double", "bool", "none", "text", "absent"};
  if (kind != Kind::Tensor) {
    return kNames[static_cast<size_t>(kind)] + (kind == Kind::Integer ? " " + std::to_string(integer) : "");
  }
  const auto list = [](const char* name, const auto& numbers) {
    std::string text = std::string(" ") + name + " [";
    for (const auto number : numbers) {
      text += (text.back() == '[' ? "" : ", ") + std::to_string(number);
    }
    return text + "]";
  };
  return std::string(executorch::runtime::toString(dtype)) + list("sizes", sizes) +
      (has_order ? list("order", order) : " no order") + (has_strides ? list("strides", strides()) : " no strides") +
      (has_data ? "" : " no data") + (has_zeros ? "" : " random numbers") + " dynamism " +
      std::to_string(static_cast<int>(dynamism));
}

ArgumentList::ArgumentList(const Blob& blob, const std::vector<TensorType>& types) : blob_(blob) {
  for (size_t i = 0; i < count(); ++i) {
    Argument argument;
    const uint32_t id = value_id(i);
    if (id == kNone) {
      argument.kind = Argument::Kind::Integer;
    } else {
      const TensorType& type = types[id];
      argument.dtype = scalar_type(type.dtype);
      argument.order = order_of(declared_order(i), type.shape.rank);
      argument.sizes.resize(type.shape.rank);
      for (size_t axis = 0; axis < type.shape.rank; ++axis) {
        argument.sizes[argument.order[axis]] = static_cast<int32_t>(type.shape[axis]);
      }
    }
    arguments_.push_back(argument);
  }
}

void ArgumentList::change(Choices& choices) {
  if (arguments_.empty()) {
    return;
  }
  const size_t at = choices.below(arguments_.size());
  Argument& argument = arguments_[at];
  const size_t axis = argument.sizes.empty() ? 0 : choices.below(argument.sizes.size());
  switch (choices.below(18)) {
    case 0:
      argument.kind = choices.of(kKinds);
      break;
    case 1:
      argument.dtype = choices.of(kTypes);
      break;
    case 2:
      set_size(argument, axis, choices.of(kSizes));
      break;
    case 3:
    case 4:
    case 5:
      set_alike(at, axis, choices.of(kSizes));
      break;
    case 6:
      argument.order.push_back(static_cast<uint8_t>(argument.sizes.size()));
      argument.sizes.push_back(1);
      set_size(argument, argument.sizes.size() - 1, choices.of(kSizes));
      break;
    case 7:
      if (!argument.sizes.empty()) {
        argument.sizes.pop_back();
        argument.order.erase(std::max_element(argument.order.begin(), argument.order.end()));
      }
      break;
    case 8:
      if (!argument.order.empty()) {
        std::swap(argument.order[axis], argument.order[choices.below(argument.order.size())]);
      }
      break;
    case 9:
      if (!argument.order.empty()) {
        argument.order[axis] = choices.byte();
      }
      break;
    case 10:
      argument.other_strides.emplace_back(axis, choices.of(kSizes));
      break;
    case 11:
      argument.has_order = !kMayBeAbsent;
      break;
    case 12:
      argument.has_strides = !kMayBeAbsent;
      break;
    case 13:
      argument.has_data = false;
      break;
    case 14:
      argument.dynamism = choices.of(kDynamisms);
      break;
    case 15:
      argument.has_zeros = false;
      break;
    case 16:
      argument.integer = choices.of(kIntegers);
      break;
    default:
      change_list(choices);
  }
}

bool ArgumentList::has_memory() const {
  return std::all_of(arguments_.begin(), arguments_.end(), [](const Argument& argument) {
    return argument.kind != Argument::Kind::Tensor || argument.elements() <= kMaxElements;
  });
}

Verdict ArgumentList::verdict() {
  if (arguments_.size() != count()) {
    return Verdict::Bad;
  }
  std::vector<ArgumentSize> inputs(blob_.num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (value_id(i) == kNone) {
      if (argument.kind != Argument::Kind::Integer) {
        return Verdict::Bad;
      }
      inputs[i].integer = argument.integer;
      continue;
    }
    if (!is_of_kind(argument, i) || !lies_as_declared(argument, i, argument.sizes) ||
        (!argument.has_data && argument.elements() > 0)) {
      return Verdict::Bad;
    }
    for (const uint8_t axis : order_of(declared_order(i), argument.sizes.size())) {
      inputs[i].shape.append(static_cast<size_t>(argument.sizes[axis]));
    }
  }
  StatusOr<Sizes> sizes = evaluate_sizes(blob_.graph(), {inputs.data(), inputs.size()});
  if (!sizes.ok()) {
    return Verdict::Bad;
  }
  StatusOr<std::vector<TensorType>> types = infer_types(blob_, *sizes);
  if (!types.ok()) {
    return Verdict::Bad;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (value_id(i) != kNone && !((*types)[value_id(i)].shape == inputs[i].shape)) {
      return Verdict::Bad;
    }
  }
  const bool has_zeros =
      std::all_of(arguments_.begin(), arguments_.end(), [](const Argument& argument) { return argument.has_zeros; });
  Verdict verdict = has_zeros ? Verdict::Good : Verdict::Either; // any number may be an index
  for (size_t i = blob_.num_inputs(); i < count(); ++i) {
    const bool is_found = blob_.waves().of_value(value_id(i)) > 0; // the size of the result is one of the data
    const Verdict one = is_found ? Verdict::Either : verdict_of_output(i, (*types)[value_id(i)].shape);
    if (one == Verdict::Bad) {
      return one;
    }
    verdict = one == Verdict::Either ? one : verdict;
  }
  return verdict;
}

void ArgumentList::set_size(Argument& argument, size_t axis, int32_t size) {
  if (axis < argument.sizes.size()) {
    const int32_t old = std::exchange(argument.sizes[axis], size);
    if (argument.elements() > 1e12) { // ExecuTorch makes no tensor of more elements than it can count
      argument.sizes[axis] = old;
    }
  }
}

void ArgumentList::set_alike(size_t like, size_t axis, int32_t size) {
  const int64_t expression = declared_size(like, axis);
  for (size_t i = 0; expression < 0 && i < std::min(arguments_.size(), count()); ++i) {
    for (size_t k = 0; k < arguments_[i].sizes.size(); ++k) {
      if (declared_size(i, k) == expression) {
        set_size(arguments_[i], k, size);
      }
    }
  }
}

int64_t ArgumentList::declared_size(size_t i, size_t axis) const {
  if (i >= count() || value_id(i) == kNone || blob_.value(value_id(i)).dims() == nullptr) {
    return 0;
  }
  const auto& dims = *blob_.value(value_id(i)).dims();
  const std::vector<uint8_t> order = order_of(declared_order(i), dims.size());
  const auto at = std::find(order.begin(), order.end(), axis);
  return at == order.end() ? 0 : entry_of(dims.Get(static_cast<uint32_t>(at - order.begin())));
}

void ArgumentList::change_list(Choices& choices) {
  const size_t at = choices.below(arguments_.size());
  switch (choices.below(4)) {
    case 0:
      arguments_.pop_back();
      break;
    case 1:
      arguments_.push_back(Argument(arguments_[at]));
      break;
    case 2:
      std::swap(arguments_[at], arguments_[choices.below(arguments_.size())]);
      break;
    default:
      arguments_.clear();
  }
}

bool ArgumentList::is_of_kind(const Argument& argument, size_t i) const {
  const schema::Value& value = blob_.value(value_id(i));
  const size_t rank = value.dims() == nullptr ? 0 : value.dims()->size();
  return argument.kind == Argument::Kind::Tensor && argument.dtype == scalar_type(to_dtype(value.dtype())) &&
      argument.sizes.size() == rank;
}

bool ArgumentList::lies_as_declared(const Argument& argument, size_t i, const std::vector<int32_t>& sizes) const {
  const auto counts = [&](size_t axis) { return axis >= sizes.size() || sizes[axis] != 1; };
  const auto those_that_count = [&](std::vector<uint8_t> order) {
    order.erase(std::remove_if(order.begin(), order.end(), [&](uint8_t axis) { return !counts(axis); }), order.end());
    return order;
  };
  if (std::count(sizes.begin(), sizes.end(), 0) > 0) {
    return true;
  }
  const std::vector<uint8_t> declared = order_of(declared_order(i), sizes.size());
  if (argument.has_order || !argument.has_strides) {
    const std::vector<uint8_t> order = argument.has_order ? argument.order : order_of(nullptr, sizes.size());
    if (those_that_count(order) != those_that_count(declared)) {
      return false;
    }
  }
  if (argument.has_strides) {
    const std::vector<int32_t> right = strides_of(sizes, declared);
    const bool is_new = argument.has_order && sizes != argument.sizes; // ExecuTorch has computed them
    const std::vector<int32_t> actual = is_new ? strides_of(sizes, argument.order) : argument.strides();
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (counts(axis) && actual[axis] != right[axis]) {
        return false;
      }
    }
  }
  return true;
}

Verdict ArgumentList::verdict_of_output(size_t i, const Shape& shape) {
  const Argument& argument = arguments_[i];
  if (!is_of_kind(argument, i)) {
    return Verdict::Bad;
  }
  std::vector<int32_t> sizes(shape.rank);
  const std::vector<uint8_t> order = order_of(declared_order(i), shape.rank);
  for (size_t k = 0; k < shape.rank; ++k) {
    sizes[order[k]] = static_cast<int32_t>(shape[k]);
  }
  results_.push_back(sizes);
  Argument resized = argument;
  resized.sizes = sizes;
  if (argument.dynamism == TensorShapeDynamism::STATIC ? sizes != argument.sizes
                                                       : resized.elements() > argument.elements()) {
    return Verdict::Bad;
  }
  if (!argument.has_data && resized.elements() > 0) {
    return Verdict::Bad;
  }
  if (argument.has_order && !argument.is_permutation()) {
    return Verdict::Either; // for ExecuTorch to say, which changes the size
  }
  if (!argument.other_strides.empty()) {
    return Verdict::Either; // ExecuTorch may compute them anew
  }
  return lies_as_declared(argument, i, sizes) ? Verdict::Good : Verdict::Bad;
}

uint32_t ArgumentList::value_id(size_t i) const {
  const auto at = static_cast<uint32_t>(i);
  const auto outputs_at = static_cast<uint32_t>(blob_.num_inputs());
  return is_input(i) ? blob_.graph().inputs()->Get(at)->value()
                     : blob_.graph().outputs()->Get(at - outputs_at)->value();
}

const DimOrder* ArgumentList::declared_order(size_t i) const {
  const auto at = static_cast<uint32_t>(i);
  const auto outputs_at = static_cast<uint32_t>(blob_.num_inputs());
  return is_input(i) ? blob_.graph().inputs()->Get(at)->dim_order()
                     : blob_.graph().outputs()->Get(at - outputs_at)->dim_order();
}

} // namespace executorch::backends::et_xnnpack::testing
