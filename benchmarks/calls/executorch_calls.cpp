// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// ExecuTorch with the delegate that is in LIBRARY, called as apps do: Module::forward, without a thread pool.

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/threadpool/threadpool_guard.h>

#include "bursts.h"

namespace et_xnnpack_benchmarks {
namespace {

using executorch::runtime::Error;
using executorch::runtime::EValue;

void run(
    const std::string& program,
    const std::string& library,
    const std::string& result,
    const std::vector<std::string>& input_files) {
  load_library(library, RTLD_NOW | RTLD_GLOBAL);
  const executorch::extension::threadpool::NoThreadPoolGuard without_pool;
  executorch::extension::Module module(program);
  check(module.load_forward() == Error::Ok, program + " cannot be loaded");
  const auto meta = module.method_meta("forward");
  check(meta.ok() && meta->num_inputs() == input_files.size(), program + " takes another number of inputs");
  std::vector<executorch::extension::TensorPtr> tensors;
  for (size_t i = 0; i < input_files.size(); ++i) {
    const auto info = meta->input_tensor_meta(i);
    Bytes bytes = read_file(input_files[i]);
    check(info.ok() && info->nbytes() == bytes.size(), input_files[i] + " is no input of the program");
    tensors.push_back(executorch::extension::make_tensor_ptr(
        {info->sizes().begin(), info->sizes().end()}, std::move(bytes), info->scalar_type()));
  }
  const std::vector<EValue> inputs(tensors.begin(), tensors.end());
  const auto call = [&] {
    auto outputs = module.forward(inputs);
    check(outputs.ok(), program + " cannot be called");
    return std::move(*outputs);
  };
  const std::vector<EValue> outputs = call();
  const auto& first = outputs.at(0).toTensor();
  write_file(result, first.const_data_ptr(), first.nbytes());
  answer(call);
}

} // namespace
} // namespace et_xnnpack_benchmarks

int main(int argc, char** argv) {
  return et_xnnpack_benchmarks::main_of({argv, argv + argc}, et_xnnpack_benchmarks::run);
}
