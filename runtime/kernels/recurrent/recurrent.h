// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>

#include "recurrent_cell.h"
#include "runtime/base/status.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/gemm/matrix_product.h"

namespace executorch::backends::et_xnnpack {

struct RecurrentParameters {
  RecurrentCellType type = RecurrentCellType::Lstm;
  size_t steps = 0, batch = 0;
  size_t gates = 0; // elements of all gates: 4 times those of a hidden state for Lstm, 3 times for Gru, else as many
  size_t hidden = 0, output = 0; // elements of a hidden state, and of what a step puts out
  bool projects = false; // hidden states to outputs; else they are the same
  bool reverse = false; // from the last step to the first
  bool packs_weight = false, packs_projection = false; // whether these are constants
};

// One direction of one layer, of Float32. Inputs 0, products of the inputs with the input weights, biases added,
// [steps, batch, gates]; 1, the weight of the last output [gates, output]; 2, an optional bias for that product;
// 3, an optional first output [batch, output]; 4, an optional first cell of Lstm [batch, hidden]; 5, the projection
// [output, hidden]. Outputs 0, [steps, batch, output]; 1, the last of them; 2, the last cell of Lstm.
class Recurrent {
 public:
  static std::optional<std::string> packed_layout(const RecurrentParameters& parameters, size_t i);
  static size_t packed_bytes(const RecurrentParameters& parameters, size_t i);
  static Status pack(const RecurrentParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const RecurrentParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  void advance(const KernelArguments& arguments, size_t step, const float* h, const float* cells, float* y) const;

  RecurrentParameters p_;
  RecurrentCellFunction cell_ = nullptr;
  MatrixProduct product_, projection_;
  // Parts of the scratch memory, in floats.
  size_t products_ = 0, zeros_ = 0, cells_ = 0, unprojected_ = 0, matrices_ = 0;
};

} // namespace executorch::backends::et_xnnpack
