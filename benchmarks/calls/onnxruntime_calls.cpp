// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// ONNX Runtime, whose library is in its Python package (LIBRARY) and whose header is in its releases. Results go where those of
// the first call are.

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cstdint>

#include "bursts.h"

namespace et_xnnpack_benchmarks {
namespace {

const OrtApi* ort = nullptr;

void check_status(OrtStatus* status) {
  if (status != nullptr) {
    throw std::runtime_error(ort->GetErrorMessage(status)); // the process ends
  }
}

const OrtApi* load_api(const std::string& path) {
  void* const library = load_library(path, RTLD_NOW);
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(library, "OrtGetApiBase"));
  const OrtApi* const api = base == nullptr ? nullptr : base()->GetApi(ORT_API_VERSION);
  check(api != nullptr, path + " is not ONNX Runtime, or older than its header");
  return api;
}

OrtSession* load(const std::string& program) {
  OrtEnv* environment = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  check_status(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "calls", &environment));
  check_status(ort->CreateSessionOptions(&options));
  check_status(ort->SetIntraOpNumThreads(options, 1));
  check_status(ort->CreateSession(environment, program.c_str(), options, &session));
  return session;
}

// The names of the inputs or outputs.
template <typename Count, typename Name>
std::vector<const char*> names(OrtSession* session, Count count, Name name) {
  OrtAllocator* allocator = nullptr;
  size_t number = 0;
  check_status(ort->GetAllocatorWithDefaultOptions(&allocator));
  check_status(count(session, &number));
  std::vector<const char*> result;
  for (size_t i = 0; i < number; ++i) {
    char* text = nullptr;
    check_status(name(session, i, allocator, &text));
    result.push_back(text);
  }
  return result;
}

// A tensor of float32 of the sizes that the model has for input `i`.
OrtValue* make_input(OrtSession* session, size_t i, Bytes& bytes) {
  OrtTypeInfo* type = nullptr;
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t rank = 0;
  check_status(ort->SessionGetInputTypeInfo(session, i, &type));
  check_status(ort->CastTypeInfoToTensorInfo(type, &info));
  check_status(ort->GetDimensionsCount(info, &rank));
  std::vector<int64_t> sizes(rank);
  check_status(ort->GetDimensions(info, sizes.data(), rank));
  OrtMemoryInfo* memory = nullptr;
  OrtValue* value = nullptr;
  check_status(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  check_status(ort->CreateTensorWithDataAsOrtValue(
      memory, bytes.data(), bytes.size(), sizes.data(), rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

void run(
    const std::string& program,
    const std::string& library,
    const std::string& result,
    const std::vector<std::string>& input_files) {
  ort = load_api(library);
  OrtSession* const session = load(program);
  const std::vector<const char*> input_names = names(session, ort->SessionGetInputCount, ort->SessionGetInputName);
  const std::vector<const char*> output_names = names(session, ort->SessionGetOutputCount, ort->SessionGetOutputName);
  check(input_names.size() == input_files.size(), program + " takes another number of inputs");
  std::vector<Bytes> data;
  std::transform(input_files.begin(), input_files.end(), std::back_inserter(data), read_file);
  std::vector<OrtValue*> inputs;
  for (size_t i = 0; i < data.size(); ++i) {
    inputs.push_back(make_input(session, i, data[i]));
  }
  std::vector<OrtValue*> outputs(output_names.size());
  const auto call = [&] {
    check_status(ort->Run(
        session,
        nullptr,
        input_names.data(),
        inputs.data(),
        inputs.size(),
        output_names.data(),
        output_names.size(),
        outputs.data()));
  };
  call();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t numel = 0;
  void* first = nullptr;
  check_status(ort->GetTensorTypeAndShape(outputs.at(0), &info));
  check_status(ort->GetTensorShapeElementCount(info, &numel));
  check_status(ort->GetTensorMutableData(outputs.at(0), &first));
  write_file(result, first, numel * sizeof(float));
  answer(call);
}

} // namespace
} // namespace et_xnnpack_benchmarks

int main(int argc, char** argv) {
  return et_xnnpack_benchmarks::main_of({argv, argv + argc}, et_xnnpack_benchmarks::run);
}
