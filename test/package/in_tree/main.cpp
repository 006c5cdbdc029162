// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Runs a blob with the arguments of the text beside it (tools/golden.py), as ExecuTorch would:
//   runs <blob.etx> <blob.txt>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using executorch::runtime::EValue;

// A tensor of Float32 from a line of the text: its rank, sizes and numbers.
class Tensor {
 public:
  explicit Tensor(std::istringstream& line) {
    size_t rank = 0, count = 1;
    line >> rank;
    for (size_t axis = 0; axis < rank; ++axis) {
      line >> sizes_.emplace_back();
      order_.push_back(static_cast<uint8_t>(axis));
      count *= static_cast<size_t>(sizes_.back());
    }
    strides_.assign(rank, 1);
    for (size_t axis = rank; axis-- > 1;) {
      strides_[axis - 1] = strides_[axis] * sizes_[axis];
    }
    numbers.resize(count);
    for (float& number : numbers) {
      line >> number;
    }
    impl_ = std::make_unique<executorch::aten::TensorImpl>(
        executorch::aten::ScalarType::Float,
        static_cast<ssize_t>(rank),
        sizes_.data(),
        numbers.data(),
        order_.data(),
        strides_.data(),
        executorch::runtime::TensorShapeDynamism::DYNAMIC_BOUND);
    value = EValue(executorch::aten::Tensor(impl_.get()));
  }

  std::vector<float> numbers;
  EValue value;

 private:
  std::vector<int32_t> sizes_, strides_;
  std::vector<uint8_t> order_;
  std::unique_ptr<executorch::aten::TensorImpl> impl_;
};

int fail(const char* what) {
  std::printf("%s\n", what);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    return fail("runs <blob.etx> <blob.txt>");
  }
  executorch::runtime::runtime_init();
  auto* const backend = executorch::runtime::get_backend_class("EtXnnpackBackend");
  if (backend == nullptr || !backend->is_available()) {
    return fail("the backend is missing");
  }
  std::ifstream blob_file(argv[1], std::ios::binary);
  const std::string blob((std::istreambuf_iterator<char>(blob_file)), {});
  executorch::runtime::FreeableBuffer buffer(blob.data(), blob.size(), nullptr);
  executorch::runtime::BackendInitContext context(nullptr, nullptr, "forward");
  auto handle = backend->init(context, &buffer, {});
  if (!handle.ok()) {
    return fail("the blob does not load");
  }

  std::vector<std::unique_ptr<Tensor>> inputs, outputs;
  double relative = 0, absolute = 0;
  std::ifstream text(argv[2]);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string kind, dtype;
    words >> kind;
    if (kind == "tolerance") {
      words >> relative >> absolute;
    } else if (kind == "call" && !outputs.empty()) {
      break; // one is enough
    } else if (kind == "in" || kind == "out") {
      words >> dtype;
      if (dtype != "Float32") {
        return fail("the blob must have operands of Float32 alone");
      }
      (kind == "in" ? inputs : outputs).push_back(std::make_unique<Tensor>(words));
    }
  }
  if (outputs.empty()) {
    return fail("the text has no call");
  }
  std::vector<std::vector<float>> expected;
  std::vector<EValue*> arguments;
  for (const auto& input : inputs) {
    arguments.push_back(&input->value);
  }
  for (const auto& output : outputs) {
    expected.push_back(output->numbers);
    std::fill(output->numbers.begin(), output->numbers.end(), 0.0f);
    arguments.push_back(&output->value);
  }
  executorch::runtime::BackendExecutionContext execution;
  const auto error = backend->execute(execution, *handle, {arguments.data(), arguments.size()});
  backend->destroy(*handle);
  if (error != executorch::runtime::Error::Ok) {
    return fail("the call fails");
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    for (size_t i = 0; i < expected[k].size(); ++i) {
      const double wanted = expected[k][i], found = outputs[k]->numbers[i];
      if (!(std::abs(found - wanted) <= absolute + relative * std::abs(wanted))) {
        std::printf("output %zu, number %zu is %g, must be %g\n", k, i, found, wanted);
        return 1;
      }
    }
  }
  std::printf("%zu outputs as they should be\n", outputs.size());
  return 0;
}
