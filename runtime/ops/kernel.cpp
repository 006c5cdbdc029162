// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "kernel.h"

#include <memory>
#include <utility>

#include "op.h"

namespace executorch::backends::et_xnnpack {

DType Kernel::packed_from(const NodeContext& node, size_t i) const {
  return node.input(i).storage();
}

StatusOr<PackedMemory> pack_operand(
    const Kernel& kernel, const NodeContext& node, size_t i, ConstantSource& constants) {
  const std::string key = "packed " + node.input(i).to_string() + " of " + name_of(node.input(i).storage_in_program()) +
      " " + *kernel.packed_layout(node, i) + constants.identity(i);
  const size_t bytes = kernel.packed_bytes(node, i);
  const auto measure = [bytes]() -> StatusOr<ConstantSource::Measured> { return ConstantSource::Measured{bytes}; };
  const auto pack = [&]() -> StatusOr<PackedMemory> {
    const DType type = kernel.packed_from(node, i);
    const bool is_reduced = type != node.input(i).storage();
    ETX_ASSIGN_OR_RETURN(const ConstantData original, is_reduced ? constants.load_reduced(i, type) : constants.load(i));
    ETX_ASSIGN_OR_RETURN(Buffer buffer, constants.allocate(bytes));
    ETX_RETURN_IF_ERROR(kernel.pack(node, i, original.data, buffer.data()));
    const auto memory = std::make_shared<Buffer>(std::move(buffer));
    return PackedMemory{memory->data(), bytes, /*is_packed_first=*/false, memory};
  };
  return constants.find_or_pack(key, measure, pack);
}

} // namespace executorch::backends::et_xnnpack
