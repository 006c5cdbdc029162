// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace executorch::backends::et_xnnpack::testing {

// Changes of blobs that keep them well-formed: numbers become others that are interesting or that the blob has elsewhere,
// members of enums and unions others, entries come, go and move. The same random numbers make the same change.

// Bytes that cannot be read as a blob come back as they are.
std::vector<uint8_t> mutate_blob(const std::vector<uint8_t>& blob, std::mt19937& random);

// `blob` with one thing of another one in the place of one of the same kind.
std::vector<uint8_t> cross_blobs(
    const std::vector<uint8_t>& blob, const std::vector<uint8_t>& other, std::mt19937& random);

} // namespace executorch::backends::et_xnnpack::testing
