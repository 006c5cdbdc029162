# Builds the XNNPACK in XNNPACK_SOURCE_DIR with what we add to it, for Xnnpack.cmake.

set(XNNPACK_LIBRARY_TYPE static)
set(XNNPACK_BUILD_TESTS OFF)
set(XNNPACK_BUILD_BENCHMARKS OFF)
set(XNNPACK_BUILD_ALL_MICROKERNELS OFF)
set(XNNPACK_ENABLE_KLEIDIAI OFF)
string(REGEX MATCH "^(x86_64|AMD64|i[3-7]86)$" is_x86 "${CMAKE_SYSTEM_PROCESSOR}")
string(REGEX MATCH "^(aarch64|arm64|ARM64)$" is_aarch64 "${CMAKE_SYSTEM_PROCESSOR}")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
  set(XNNPACK_ENABLE_ARM_SME OFF)
  set(XNNPACK_ENABLE_ARM_SME2 OFF)
  if(is_aarch64)
    message(STATUS "XNNPACK is built without SME: GCC has it from 14 on")
  endif()
endif()
if(version STREQUAL "4ea82e5")
  # What is wrong in places in this version (xnnpack-fixes.md). GCC before 13 leaves out the first two anyway.
  set(XNNPACK_ENABLE_AVX512FP16 OFF)
  set(XNNPACK_ENABLE_AVX512AMX OFF)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm" AND CMAKE_SIZEOF_VOID_P EQUAL 4)
    set(XNNPACK_ENABLE_ASSEMBLY OFF)
  endif()
else()
  set(USE_GNU_SOURCE ON) # for its clocks
  if(is_aarch64)
    et_xnnpack_source(kleidiai)
    set(XNNPACK_ENABLE_KLEIDIAI ON)
    set(KLEIDIAI_BUILD_TESTS OFF)
    set(KLEIDIAI_BUILD_BENCHMARK OFF)
    add_subdirectory("${KLEIDIAI_SOURCE_DIR}" xnnpack/kleidiai EXCLUDE_FROM_ALL SYSTEM)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 ends with an internal error when it vectorizes this one.
      set_property(SOURCE "${KLEIDIAI_SOURCE_DIR}/kai/ukernels/matmul/pack/kai_lhs_quant_pack_qai8dxp_bf16_neon.c"
        TARGET_DIRECTORY kleidiai APPEND PROPERTY COMPILE_OPTIONS -fno-tree-vectorize)
    endif()
  endif()
endif()

# The instruction sets that are asked for. XNNPACK has no names of its own for the older ones.
set(with_avx512 ON)
if(is_x86 AND ET_XNNPACK_ISAS AND NOT "avx512" IN_LIST ET_XNNPACK_ISAS)
  set(with_avx512 OFF)
  foreach(isa AVX256SKX AVX256VNNI AVX256VNNIGFNI AVX512F AVX512SKX AVX512VBMI AVX512VNNI AVX512VNNIGFNI AVX512AMX AVX512FP16 AVX512BF16)
    set(XNNPACK_ENABLE_${isa} OFF)
  endforeach()
endif()

add_subdirectory("${XNNPACK_SOURCE_DIR}" xnnpack EXCLUDE_FROM_ALL SYSTEM)
set(ET_XNNPACK_XNNPACK_PARTS)
# No exception passes through C, and tables to unwind it are as large as a tenth of the code.
get_property(targets DIRECTORY "${XNNPACK_SOURCE_DIR}" PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  if(NOT MSVC AND NOT type MATCHES "INTERFACE|UTILITY")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-fno-asynchronous-unwind-tables>)
  endif()
endforeach()
include("${CMAKE_CURRENT_LIST_DIR}/XnnpackParts.cmake")

# For those who use these libraries instead of building them.
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/xnnpack/et_xnnpack.cmake" CONTENT
  "set(ET_XNNPACK_XNNPACK_PIN @ET_XNNPACK_XNNPACK_PIN@)\nset(ET_XNNPACK_XNNPACK_PARTS \"@ET_XNNPACK_XNNPACK_PARTS@\")\n" @ONLY)

# A Debug build of XNNPACK prints; a library of ours never does.
foreach(target logging xnnpack-logging)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES
      COMPILE_DEFINITIONS XNN_LOG_LEVEL=0 INTERFACE_COMPILE_DEFINITIONS XNN_LOG_LEVEL=0)
  endif()
endforeach()
