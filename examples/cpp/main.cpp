// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Loads a program, runs it with ones and prints what comes out.
#include <cstdio>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

using executorch::extension::Module;
using executorch::extension::TensorPtr;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s program.pte\n", argv[0]);
    return 2;
  }
  Module module(argv[1]);
  auto meta = module.method_meta("forward");
  if (!meta.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], executorch::runtime::to_string(meta.error()));
    return 1;
  }
  std::vector<TensorPtr> tensors;
  std::vector<executorch::runtime::EValue> inputs;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    auto input = meta->input_tensor_meta(i);
    if (!input.ok()) {
      std::fprintf(stderr, "input %zu is not a tensor\n", i);
      return 1;
    }
    tensors.push_back(
        executorch::extension::ones({input->sizes().begin(), input->sizes().end()}, input->scalar_type()));
    inputs.emplace_back(tensors.back());
  }
  auto outputs = module.forward(inputs);
  if (!outputs.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], executorch::runtime::to_string(outputs.error()));
    return 1;
  }
  for (const auto& output : *outputs) {
    const auto& tensor = output.toTensor();
    const float* data = tensor.const_data_ptr<float>();
    std::printf("%zd numbers, the first:", tensor.numel());
    for (ssize_t i = 0; i < tensor.numel() && i < 8; ++i) {
      std::printf(" %.4f", data[i]);
    }
    std::printf("\n");
  }
  return 0;
}
