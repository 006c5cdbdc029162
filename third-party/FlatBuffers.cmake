# FlatBuffers: the C++ headers, and flatc of the same version for the machine that builds.
#
# Targets: et_xnnpack_flatbuffers (headers), et_xnnpack_flatc (builds flatc).
# Sets ET_XNNPACK_FLATC_EXECUTABLE for the directories that come after.

et_xnnpack_source(flatbuffers)
add_library(et_xnnpack_flatbuffers INTERFACE)
target_include_directories(et_xnnpack_flatbuffers SYSTEM INTERFACE "${FLATBUFFERS_SOURCE_DIR}/include")

if(ET_XNNPACK_FLATC)
  add_custom_target(et_xnnpack_flatc)
  set(ET_XNNPACK_FLATC_EXECUTABLE "${ET_XNNPACK_FLATC}" PARENT_SCOPE)
  return()
endif()

# A build of its own: flatc runs here, whatever the target machine, build type and sanitizers are.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/flatc")
set(flatc "${folder}/flatc${CMAKE_HOST_EXECUTABLE_SUFFIX}")
set(compiler)
if(NOT CMAKE_CROSSCOMPILING)
  set(compiler "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}")
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    list(APPEND compiler "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endif()
ExternalProject_Add(et_xnnpack_flatc
  SOURCE_DIR "${FLATBUFFERS_SOURCE_DIR}"
  BINARY_DIR "${folder}"
  DOWNLOAD_COMMAND "" UPDATE_COMMAND "" INSTALL_COMMAND ""
  CMAKE_ARGS
    ${compiler}
    -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS=-w
    -DCMAKE_CXX_FLAGS_DEBUG=-O0
    -DFLATBUFFERS_BUILD_TESTS=OFF
    -DFLATBUFFERS_BUILD_FLATLIB=OFF
    -DFLATBUFFERS_INSTALL=OFF
    -DFLATBUFFERS_STRICT_MODE=OFF
  BUILD_COMMAND "${CMAKE_COMMAND}" --build . --target flatc
  BUILD_BYPRODUCTS "${flatc}"
  LOG_CONFIGURE ON LOG_BUILD ON LOG_OUTPUT_ON_FAILURE ON
  EXCLUDE_FROM_ALL ON)
set(ET_XNNPACK_FLATC_EXECUTABLE "${flatc}" PARENT_SCOPE)
