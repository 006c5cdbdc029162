// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>
#include <string_view>

namespace executorch::backends::et_xnnpack {

// `text` for a message: all that is not printable ASCII becomes like "\xff". Names in a blob, paths and
// options may hold any bytes, while ExecuTorch's log cuts a message off anywhere and Python takes only UTF-8.
std::string printable(std::string_view text);

// Whether this is UTF-8 without a zero byte.
bool is_name(std::string_view text);

} // namespace executorch::backends::et_xnnpack
