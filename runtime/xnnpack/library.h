// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What the XNNPACK that we are linked with does on this CPU. Found out by asking it, once.

#include <string>

namespace executorch::backends::et_xnnpack {

// Its version, and in parentheses what of ours it is built with (third-party/README.md).
std::string xnnpack_version();

// The microkernels that it has chosen on this CPU, one a line: those for products of all types, and those of operators that
// were made so far in this process. Empty where it is built without their names.
std::string xnnpack_microkernels();

// What XNNPACK's packing depends on beyond its arguments.
std::string describe_xnnpack_build();

// Whether it computes in float16 here, and right.
bool xnnpack_has_float16();

// Whether its products of rows that it quantizes itself are right here, whatever the number of rows. They are
// not where it was built without the headers of ours in third-party/ that mend this, and its tiles need them.
bool xnnpack_can_quantize_rows();

} // namespace executorch::backends::et_xnnpack
