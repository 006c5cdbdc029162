# XNNPACK with the microkernels that its own dispatch uses, and nothing else.
#
# Targets: et_xnnpack_xnnpack (what to link), et_xnnpack_xnnpack_internals (its private headers).

# Says which part of ours XNNPACK is built without: a status where that is expected, else a warning.
function(et_xnnpack_leave_out severity part reason)
  message(${severity} "XNNPACK is built without ${part}: ${reason}")
endfunction()

if(ET_XNNPACK_PREBUILT_XNNPACK AND NOT TARGET XNNPACK)
  et_xnnpack_source(xnnpack)
  foreach(name microkernels-prod XNNPACK)
    find_library(ET_XNNPACK_LIBRARY_${name} ${name} PATHS "${ET_XNNPACK_PREBUILT_XNNPACK}"
      NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${ET_XNNPACK_LIBRARY_${name}}")
  endforeach()
  target_include_directories(XNNPACK SYSTEM INTERFACE "${XNNPACK_SOURCE_DIR}/include")
  target_compile_definitions(XNNPACK INTERFACE XNN_LOG_LEVEL=0)
  target_link_libraries(XNNPACK INTERFACE microkernels-prod pthreadpool m)
  message(STATUS "XNNPACK is as it was built in ${ET_XNNPACK_PREBUILT_XNNPACK}")
elseif(NOT TARGET XNNPACK)
  et_xnnpack_source(xnnpack)
  set(XNNPACK_LIBRARY_TYPE static)
  set(XNNPACK_BUILD_TESTS OFF)
  set(XNNPACK_BUILD_BENCHMARKS OFF)
  set(XNNPACK_BUILD_ALL_MICROKERNELS OFF)
  # KleidiAI is one more source to fetch; what it gains is measured before it is switched on.
  set(XNNPACK_ENABLE_KLEIDIAI OFF)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
    set(XNNPACK_ENABLE_ARM_SME OFF)
    set(XNNPACK_ENABLE_ARM_SME2 OFF)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
      et_xnnpack_leave_out(STATUS "SME" "GCC has it from 14 on")
    endif()
  endif()
  # What is wrong in places in the pinned version (xnnpack-fixes.md). GCC before 13 leaves out the first two anyway.
  file(STRINGS "${XNNPACK_SOURCE_DIR}/include/xnnpack.h" newer REGEX "define XNN_FLAG_NO_BROADCAST")
  if(NOT newer)
    set(XNNPACK_ENABLE_AVX512FP16 OFF)
    set(XNNPACK_ENABLE_AVX512AMX OFF)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm" AND CMAKE_SIZEOF_VOID_P EQUAL 4)
      set(XNNPACK_ENABLE_ASSEMBLY OFF)
    endif()
  endif()
  add_subdirectory("${XNNPACK_SOURCE_DIR}" xnnpack EXCLUDE_FROM_ALL SYSTEM)
  include("${CMAKE_CURRENT_LIST_DIR}/XnnpackParts.cmake")
  # A Debug build of XNNPACK prints; a library of ours never does.
  foreach(target logging xnnpack-logging)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES
        COMPILE_DEFINITIONS XNN_LOG_LEVEL=0 INTERFACE_COMPILE_DEFINITIONS XNN_LOG_LEVEL=0)
    endif()
  endforeach()
else()
  get_target_property(XNNPACK_SOURCE_DIR XNNPACK SOURCE_DIR)
  et_xnnpack_leave_out(STATUS "our planner, packing and tiles" "it is that of the project around us")
endif()

# The name of the microkernel library changed upstream.
set(microkernels)
foreach(name microkernels-prod xnnpack-microkernels-prod)
  if(TARGET ${name})
    list(APPEND microkernels ${name})
  endif()
endforeach()

set(ET_XNNPACK_MICROKERNELS ${microkernels} PARENT_SCOPE)

add_library(et_xnnpack_xnnpack INTERFACE)
target_link_libraries(et_xnnpack_xnnpack INTERFACE XNNPACK ${microkernels} cpuinfo pthreadpool)

add_library(et_xnnpack_xnnpack_internals INTERFACE)
target_include_directories(et_xnnpack_xnnpack_internals SYSTEM INTERFACE
  "${XNNPACK_SOURCE_DIR}/include" "${XNNPACK_SOURCE_DIR}/src" "${XNNPACK_SOURCE_DIR}")
target_link_libraries(et_xnnpack_xnnpack_internals INTERFACE pthreadpool fxdiv)
