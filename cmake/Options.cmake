# Every switch of this build. setup.md explains them.

# Inside ExecuTorch's own tree its targets exist already and only the library is wanted.
set(ET_XNNPACK_IN_TREE OFF)
set(with_python ON)
if(TARGET executorch_core)
  set(ET_XNNPACK_IN_TREE ON)
  set(with_python OFF)
elseif(CMAKE_CROSSCOMPILING)
  set(with_python OFF)
endif()

option(ET_XNNPACK_BUILD_PYTHON "Build the Python module" ${with_python})
option(ET_XNNPACK_BUILD_TESTS "Build the tests" OFF)
option(ET_XNNPACK_BUILD_FUZZERS "Build the fuzzers, with Clang: our own code is compiled to say what it reaches" OFF)
option(ET_XNNPACK_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(ET_XNNPACK_WERROR "Turn warnings in our own code into errors" OFF)
set(ET_XNNPACK_SANITIZE "" CACHE STRING "Sanitizers to build with: address;undefined or thread")
# For the Python package alone, pyproject.toml can have another default, in [tool.scikit-build]:
#   cmake.define.ET_XNNPACK_XNNPACK_VERSION = "executorch"
set(ET_XNNPACK_XNNPACK_VERSION auto CACHE STRING
  "The XNNPACK to build: 4ea82e5, 92a7ad5, or auto for the newest that can be had; \
executorch for that in ExecuTorch's shared library, which builds none")
set(ET_XNNPACK_PREBUILT_XNNPACK "" CACHE PATH
  "The folder third-party/xnnpack of another build, whose XNNPACK is used instead of building one")
set(ET_XNNPACK_FLATC "" CACHE FILEPATH "A flatc of the pinned version to use instead of building one")

set(ET_XNNPACK_OPS "" CACHE STRING
  "Operators of the runtime: families (folders of runtime/ops) and operators of the schema; empty for all")
set(ET_XNNPACK_ISAS "" CACHE STRING
  "Instruction sets of our kernels beside what the compiler's options promise anyway: avx2;avx512, which empty means; scalar")
foreach(isa IN LISTS ET_XNNPACK_ISAS)
  if(NOT isa MATCHES "^(avx2|avx512|scalar|none)$")
    message(FATAL_ERROR "ET_XNNPACK_ISAS has '${isa}', must be avx2, avx512 or scalar, or none.")
  endif()
endforeach()

if(ET_XNNPACK_BUILD_FUZZERS)
  if(NOT ET_XNNPACK_BUILD_TESTS)
    message(FATAL_ERROR "ET_XNNPACK_BUILD_FUZZERS needs ET_XNNPACK_BUILD_TESTS: fuzzers share code with the tests.")
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(Apple)?Clang$")
    message(FATAL_ERROR
      "ET_XNNPACK_BUILD_FUZZERS needs Clang, which has libFuzzer, and the compiler is ${CMAKE_CXX_COMPILER} "
      "(${CMAKE_CXX_COMPILER_ID}). Configure a new build folder with -DCMAKE_C_COMPILER=clang "
      "-DCMAKE_CXX_COMPILER=clang++.")
  endif()
endif()

if(ET_XNNPACK_SANITIZE)
  list(TRANSFORM ET_XNNPACK_SANITIZE TOLOWER)
  # UBSan stays with our own code (cmake/Target.cmake): XNNPACK relies on what it forbids.
  set(memory_or_thread ${ET_XNNPACK_SANITIZE})
  list(REMOVE_ITEM memory_or_thread undefined)
  if(memory_or_thread)
    list(JOIN memory_or_thread "," memory_or_thread)
    add_compile_options(-fsanitize=${memory_or_thread} -fno-omit-frame-pointer)
  endif()
  list(JOIN ET_XNNPACK_SANITIZE "," all)
  add_link_options(-fsanitize=${all})
endif()
