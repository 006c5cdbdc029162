// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "constant.h"

namespace executorch::backends::et_xnnpack {

std::string identity(const schema::Constant& constant) {
  const char* const storage = schema::EnumNameStorage(constant.storage());
  if (constant.key() != nullptr) {
    return std::string(storage) + "#" + constant.key()->str();
  }
  return std::string(storage) + " " + std::string(constant.data()->begin(), constant.data()->end());
}

} // namespace executorch::backends::et_xnnpack
