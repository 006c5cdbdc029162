// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "states.h"

#include "runtime/program/constant.h"

namespace executorch::backends::et_xnnpack {

StatusOr<char*> States::find_or_add(const schema::State& state, const TensorType& type, Weights& weights) {
  const std::string name = state.name()->str();
  const auto known = contents_.find(name);
  if (known != contents_.end()) {
    ETX_CHECK(
        known->second.type == type && known->second.initial == identity(*state.initial()),
        InvalidArgument,
        "state %s is shared, but %s here and %s in the other method, or they begin with different contents",
        name.c_str(),
        type.to_string().c_str(),
        known->second.type.to_string().c_str());
    return known->second.buffer.data();
  }
  Content content{type, identity(*state.initial()), {}};
  ETX_ASSIGN_OR_RETURN(content.buffer, weights.constants().own(*state.initial(), type));
  char* const data = content.buffer.data();
  contents_.emplace(name, std::move(content));
  return data;
}

} // namespace executorch::backends::et_xnnpack
