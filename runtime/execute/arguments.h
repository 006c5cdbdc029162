// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <executorch/runtime/core/evalue.h>

#include "runtime/program/blob.h"
#include "runtime/program/sizes.h"

namespace executorch::backends::et_xnnpack {

using executorch::aten::ScalarType;
using executorch::runtime::EValue;

// The dtype as ExecuTorch calls it.
ScalarType scalar_type(DType dtype);

// The arguments of a delegate, as its blob declares them.
class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(const Blob& blob);

  size_t num_inputs() const {
    return inputs_.size();
  }
  size_t num_outputs() const {
    return outputs_.size();
  }

  // Checks `args`, inputs before outputs, and reads sizes and addresses off the inputs. Fails with InvalidArgument for
  // another number of arguments, another kind, dtype, rank or order of axes in memory, and if an output is absent.
  Status read(Span<EValue*> args, std::vector<ArgumentSize>* inputs, std::vector<const void*>* input_data) const;

  // Gives output `i` the physical shape; returns its address.
  StatusOr<void*> prepare_output(size_t i, const Shape& shape, EValue& arg) const;

 private:
  struct Argument {
    bool is_integer = false; // else a tensor
    DType dtype = DType::Float32;
    ScalarType scalar_type = ScalarType::Float;
    size_t rank = 0;
    std::array<uint8_t, kMaxRank> order{}; // the tensor's axis that is each axis in memory
  };
  using DimOrder = flatbuffers::Vector<uint8_t>;

  static Argument tensor(const schema::Value& value, const DimOrder* order);
  static Status check_kind(const EValue* arg, const Argument& declared);
  static Status check_order(const executorch::aten::Tensor& tensor, const Argument& declared);
  static Status read_tensor(const EValue* arg, const Argument& declared, Shape* shape, const void** data);

  std::vector<Argument> inputs_, outputs_;
};

} // namespace executorch::backends::et_xnnpack
