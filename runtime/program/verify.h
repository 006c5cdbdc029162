// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "blob.h"

namespace executorch::backends::et_xnnpack {

// Fails unless the graph has every property that Blob promises but the last one, that operators accept their nodes.
// REQUIRES: the FlatBuffers verifier accepted the graph
Status verify_graph(const Blob& blob);

} // namespace executorch::backends::et_xnnpack
