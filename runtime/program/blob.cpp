// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "blob.h"

#include <cinttypes>
#include <cstring>
#include <new>

#include "verify.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr auto kSupportedFeatures = static_cast<uint64_t>(schema::Feature::ANY); // all of the schema
constexpr size_t kMaxBlobBytes = size_t{1} << 31; // FlatBuffers offsets are 32 bits
constexpr uint32_t kMaxDepth = 16;
constexpr uint32_t kMaxTables = 1 << 22;

Status check_identifier(Span<const uint8_t> bytes) {
  // Root offset and file identifier.
  ETX_CHECK(bytes.size() >= 8, InvalidProgram, "a blob of %zu bytes is too short", bytes.size());
  ETX_CHECK(bytes.size() < kMaxBlobBytes, InvalidProgram, "a blob of %zu bytes is too long", bytes.size());
  ETX_CHECK(std::memcmp(bytes.data() + 4, "ETX", 3) == 0, InvalidProgram, "this is not an et_xnnpack blob");
  ETX_CHECK(
      schema::GraphBufferHasIdentifier(bytes.data()),
      DelegateInvalidCompatibility,
      "the blob has format ETX%c, but this runtime reads %s: lower the model again with the et_xnnpack "
      "that is installed, or update the runtime",
      bytes.data()[7] >= 32 && bytes.data()[7] < 127 ? bytes.data()[7] : '?',
      schema::GraphIdentifier());
  return {};
}

// Whatever fails at load is the fault of the blob, not of a call.
Status as_program_error(const Status& status) {
  return status.ok() ? Status() : Status(Error::InvalidProgram, status.message());
}

} // namespace

StatusOr<Blob> Blob::open(Span<const uint8_t> bytes, NodeCheck check_nodes) {
  ETX_RETURN_IF_ERROR(check_identifier(bytes));
  Blob blob;
  // operator new[] aligns for every scalar of the schema.
  blob.bytes_.reset(new (std::nothrow) uint8_t[bytes.size()]);
  ETX_CHECK(blob.bytes_ != nullptr, MemoryAllocationFailed, "there is no memory for %zu bytes", bytes.size());
  std::memcpy(blob.bytes_.get(), bytes.data(), bytes.size());
  flatbuffers::Verifier verifier(blob.bytes_.get(), bytes.size(), kMaxDepth, kMaxTables);
  ETX_CHECK(schema::VerifyGraphBuffer(verifier), InvalidProgram, "the blob is truncated or corrupt");
  blob.graph_ = schema::GetGraph(blob.bytes_.get());
  const uint64_t missing = blob.graph().requires_() & ~kSupportedFeatures;
  ETX_CHECK(
      missing == 0,
      DelegateInvalidCompatibility,
      "the blob needs features 0x%" PRIx64 " that this runtime lacks: update the runtime",
      missing);
  ETX_RETURN_IF_ERROR(verify_graph(blob));
  ETX_ASSIGN_OR_RETURN(Waves waves, Waves::of(blob.graph()));
  blob.waves_ = std::make_shared<const Waves>(std::move(waves));
  StatusOr<Sizes> sizes = planned_sizes(blob.graph());
  ETX_RETURN_IF_ERROR(as_program_error(sizes.status()));
  ETX_RETURN_IF_ERROR(as_program_error(check_nodes(blob, *sizes)));
  return blob;
}

std::string Blob::name(size_t i) const {
  return std::to_string(i) + " " + schema::EnumNameAttributes(node(i).attributes_type());
}

std::string Blob::describe(size_t i) const {
  return "node " + name(i) + " (debug handle " + std::to_string(node(i).debug_handle()) + ")";
}

} // namespace executorch::backends::et_xnnpack
