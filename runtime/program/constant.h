// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include <et_xnnpack/schema_generated.h>

namespace executorch::backends::et_xnnpack {

// Equal for constants of the same content that are stored alike, of whatever program. REQUIRES: it passed Blob::open
std::string identity(const schema::Constant& constant);

} // namespace executorch::backends::et_xnnpack
