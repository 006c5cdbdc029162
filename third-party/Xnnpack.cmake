# XNNPACK with the microkernels that its own dispatch uses, and nothing else.
#
# Targets: et_xnnpack_xnnpack (what to link), et_xnnpack_xnnpack_internals (its private headers).

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
elseif(NOT TARGET XNNPACK)
  et_xnnpack_source(xnnpack)
  set(XNNPACK_LIBRARY_TYPE static)
  set(XNNPACK_BUILD_TESTS OFF)
  set(XNNPACK_BUILD_BENCHMARKS OFF)
  set(XNNPACK_BUILD_ALL_MICROKERNELS OFF)
  # KleidiAI is one more source to fetch; what it gains is measured before it is switched on.
  set(XNNPACK_ENABLE_KLEIDIAI OFF)
  # Wrong in places, as later versions show (xnnpack-fixes.md). GCC before 13 leaves them out anyway.
  set(XNNPACK_ENABLE_AVX512FP16 OFF)
  set(XNNPACK_ENABLE_AVX512AMX OFF)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm" AND CMAKE_SIZEOF_VOID_P EQUAL 4)
    set(XNNPACK_ENABLE_ASSEMBLY OFF)
  endif()
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
    set(XNNPACK_ENABLE_ARM_SME OFF)
    set(XNNPACK_ENABLE_ARM_SME2 OFF)
  endif()
  add_subdirectory("${XNNPACK_SOURCE_DIR}" xnnpack EXCLUDE_FROM_ALL SYSTEM)
  # The compiler reads a header of ours before a source of XNNPACK, with these options.
  function(et_xnnpack_read_before source header)
    set_property(SOURCE "${XNNPACK_SOURCE_DIR}/src/${source}.c" TARGET_DIRECTORY XNNPACK APPEND PROPERTY
      COMPILE_OPTIONS -include "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${header}.h" ${ARGN})
  endfunction()
  if(NOT MSVC)
    target_sources(XNNPACK PRIVATE
      "${CMAKE_CURRENT_LIST_DIR}/xnnpack_plan.c" "${CMAKE_CURRENT_LIST_DIR}/xnnpack_packing.c")
    et_xnnpack_read_before(runtime xnnpack_plan)
    et_xnnpack_read_before(runtime xnnpack_rows)
    et_xnnpack_read_before(operator-run xnnpack_rows)
    et_xnnpack_read_before(operators/convolution-nhwc xnnpack_packing -DET_XNNPACK_FAST_PACKING)
    et_xnnpack_read_before(operators/deconvolution-nhwc xnnpack_deconvolution)
    et_xnnpack_read_before(indirection xnnpack_deconvolution)
  endif()
  if(TARGET microkernels-prod AND NOT MSVC AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i[3-7]86)$")
    get_target_property(sources microkernels-prod SOURCES)
    list(FILTER sources INCLUDE REGEX "^src/(f32|f16|qd8)[^/]*/.*(sse|avx|fma3|f16c).*\\.c$")
    foreach(source ${sources})
      file(STRINGS "${XNNPACK_SOURCE_DIR}/${source}" limited REGEX "_(max|min)_ps\\(v(acc|out|scaled)[^,]*, v")
      if(limited)
        string(REGEX REPLACE "^src/|\\.c$" "" source "${source}")
        et_xnnpack_read_before(${source} xnnpack_nan)
      endif()
    endforeach()
  endif()
  # Microkernels by the number of output channels (xnnpack_tiles.h). Each operator calls that number otherwise.
  if(TARGET microkernels-prod AND NOT MSVC)
    target_sources(XNNPACK PRIVATE "${CMAKE_CURRENT_LIST_DIR}/xnnpack_tiles.c")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i[3-7]86)$")
      set(products gemm-4x32 gemm-5x32 gemm-6x32 gemm-8x32 gemm-1x16 gemm-8x16 igemm-1x16 igemm-8x16)
      foreach(product ${products})
        string(REGEX MATCH "^[a-z]+" folder ${product})
        target_sources(microkernels-prod PRIVATE
          "${XNNPACK_SOURCE_DIR}/src/f32-${folder}/gen/f32-${product}-minmax-avx512f-broadcast.c")
      endforeach()
      target_sources(microkernels-prod PRIVATE
        "${XNNPACK_SOURCE_DIR}/src/x32-packw/gen/x32-packw-x16-gemm-goi-avx512f-u4-prfm.c")
      foreach(tile 1x4c8-minmax-sse2 4x4c8-minmax-sse2 1x4c8-minmax-sse41 3x4c8-minmax-sse41 1x4c8-minmax-avx
          4x4c8-minmax-avx)
        et_xnnpack_read_before(qd8-f32-qb4w-gemm/gen/qd8-f32-qb4w-gemm-${tile}-ld128 xnnpack_unaligned)
      endforeach()
    endif()
    # Exact sums of 8-bit products (xnnpack_sums.h).
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
      target_sources(XNNPACK PRIVATE "${CMAKE_CURRENT_LIST_DIR}/xnnpack_sums.c")
      foreach(folder gemm igemm)
        target_sources(microkernels-prod PRIVATE
          "${XNNPACK_SOURCE_DIR}/src/qs8-qc8w-${folder}/gen/qs8-qc8w-${folder}-4x16-minmax-fp32-neonv8-mlal-lane.c"
          "${XNNPACK_SOURCE_DIR}/src/qd8-f32-qc8w-${folder}/gen/qd8-f32-qc8w-${folder}-1x16-minmax-neon-mlal-lane.c"
          "${XNNPACK_SOURCE_DIR}/src/qd8-f32-qc8w-${folder}/gen/qd8-f32-qc8w-${folder}-4x16-minmax-neon-mlal-lane.c")
      endforeach()
      foreach(operator convolution-nhwc deconvolution-nhwc fully-connected-nc)
        et_xnnpack_read_before(operators/${operator} xnnpack_sums -DET_XNNPACK_EXACT_SUMS)
      endforeach()
    endif()
    et_xnnpack_read_before(operators/convolution-nhwc xnnpack_tiles -DET_XNNPACK_CONV_COLUMNS=group_output_channels)
    et_xnnpack_read_before(operators/fully-connected-nc xnnpack_tiles
      -DET_XNNPACK_COLUMNS=output_channels -DET_XNNPACK_NR2_COLUMNS=output_channels)
  endif()
  # A Debug build of XNNPACK prints; a library of ours never does.
  foreach(target logging xnnpack-logging)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES
        COMPILE_DEFINITIONS XNN_LOG_LEVEL=0 INTERFACE_COMPILE_DEFINITIONS XNN_LOG_LEVEL=0)
    endif()
  endforeach()
else()
  get_target_property(XNNPACK_SOURCE_DIR XNNPACK SOURCE_DIR)
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
