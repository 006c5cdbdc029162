# What we add to XNNPACK, part by part, for each version. A part that cannot be added stops the configuration; one that
# a version does not need is said. README.md explains each and when to drop it, and names the test that fails without.

set(microkernels)
foreach(name IN LISTS names)
  if(TARGET ${name})
    set(microkernels ${name})
  endif()
endforeach()

# The compiler reads a header of ours before these sources of XNNPACK, with OPTIONS.
function(et_xnnpack_read_before header)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;OPTIONS")
  list(TRANSFORM arg_SOURCES REPLACE "(.+)" "${XNNPACK_SOURCE_DIR}/src/\\1.c")
  # Headers of ours name those of XNNPACK from its root.
  set_property(SOURCE ${arg_SOURCES} TARGET_DIRECTORY XNNPACK APPEND PROPERTY
    COMPILE_OPTIONS "-I${XNNPACK_SOURCE_DIR}" -include "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${header}.h" ${arg_OPTIONS})
endfunction()

# Adds a part, which goes into ET_XNNPACK_XNNPACK_PARTS:
#   HEADER  a header of ours that is read before each source in BEFORE, with OPTIONS
#   BEFORE  sources that XNNPACK compiles
#   CALLS   what each of them must contain, a regular expression: what the header gives another meaning
#   OWN     sources of ours, beside this file, to add to XNNPACK
#   ADDED   microkernels to add that XNNPACK has but does not build
function(et_xnnpack_part part what)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "HEADER;CALLS" "OWN;ADDED;BEFORE;OPTIONS")
  if(MSVC)
    message(STATUS "XNNPACK is built without ${what}: MSVC reads no header before a source")
    return()
  endif()
  set(refusal "XNNPACK ${version} cannot be built with ${what} (third-party/README.md):")
  if(NOT microkernels)
    message(FATAL_ERROR "${refusal} it has no target of these names: ${names}.")
  endif()
  get_property(targets DIRECTORY "${XNNPACK_SOURCE_DIR}" PROPERTY BUILDSYSTEM_TARGETS)
  set(compiled)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    list(APPEND compiled ${sources})
  endforeach()
  foreach(source IN LISTS arg_BEFORE)
    if(NOT "src/${source}.c" IN_LIST compiled)
      message(FATAL_ERROR "${refusal} it does not compile src/${source}.c.")
    endif()
    file(STRINGS "${XNNPACK_SOURCE_DIR}/src/${source}.c" calls LIMIT_COUNT 1 REGEX "${arg_CALLS}")
    if(NOT calls)
      message(FATAL_ERROR "${refusal} src/${source}.c does not contain ${arg_CALLS}.")
    endif()
  endforeach()
  foreach(source IN LISTS arg_ADDED)
    if(NOT EXISTS "${XNNPACK_SOURCE_DIR}/src/${source}.c")
      message(FATAL_ERROR "${refusal} it has no src/${source}.c.")
    endif()
  endforeach()
  list(TRANSFORM arg_ADDED REPLACE "(.+)" "${XNNPACK_SOURCE_DIR}/src/\\1.c")
  list(TRANSFORM arg_OWN PREPEND "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/")
  target_sources(XNNPACK PRIVATE ${arg_OWN})
  set_property(SOURCE ${arg_OWN} TARGET_DIRECTORY XNNPACK APPEND PROPERTY COMPILE_OPTIONS "-I${XNNPACK_SOURCE_DIR}")
  target_sources(${microkernels} PRIVATE ${arg_ADDED})
  et_xnnpack_read_before(${arg_HEADER} SOURCES ${arg_BEFORE} OPTIONS ${arg_OPTIONS})
  if(NOT part IN_LIST ET_XNNPACK_XNNPACK_PARTS)
    set(ET_XNNPACK_XNNPACK_PARTS ${ET_XNNPACK_XNNPACK_PARTS} ${part} PARENT_SCOPE)
  endif()
endfunction()

# Says why a part is not added.
function(et_xnnpack_without what reason)
  message(STATUS "XNNPACK ${version} is built without ${what}: ${reason}")
endfunction()

set(is_old FALSE)
if(version STREQUAL "4ea82e5")
  set(is_old TRUE)
endif()

# Before others that are read before operator-run.
set(what "room for the scales of all rows that a tile reads")
if(is_old)
  et_xnnpack_part(rows "${what}" HEADER xnnpack_rows BEFORE operator-run CALLS XNN_EXTRA_QUANTIZATION_PARAMS)
else()
  et_xnnpack_without("${what}" "XNN_EXTRA_QUANTIZATION_PARAMS is 15")
endif()

et_xnnpack_part(packing "our packing of convolutions" OWN xnnpack_packing.c HEADER xnnpack_packing
  BEFORE operators/convolution-nhwc CALLS xnn_pack_f32_conv_goki_w OPTIONS -DET_XNNPACK_FAST_PACKING)
et_xnnpack_part(denormals "denormal numbers in operators" HEADER xnnpack_denormals
  BEFORE operator-run CALLS PTHREADPOOL_FLAG_DISABLE_DENORMALS)

if(NOT is_old)
  set(operators convolution-nhwc deconvolution-nhwc fully-connected-nc)
  list(TRANSFORM operators PREPEND operators/)
  et_xnnpack_part(fingerprints "no fingerprints" HEADER xnnpack_fingerprints
    BEFORE ${operators} CALLS "create_fingerprint_context\\(fingerprint_id\\)")
  set(what "checks for memory")
  et_xnnpack_part(memory "${what}" HEADER xnnpack_memory
    BEFORE operators/binary-elementwise-nd CALLS "xnn_allocate_extra_params\\(")
  et_xnnpack_part(memory "${what}" HEADER xnnpack_memory
    BEFORE operators/dynamic-fully-connected-nc operators/reduce-nd CALLS "xnn_allocate_extra_params\\("
    OPTIONS -DET_XNNPACK_GOTO_ERROR)
  et_xnnpack_part(scaling "convolutions that scale channels" HEADER xnnpack_scaling
    BEFORE operators/convolution-nhwc CALLS "xnn_init_f32_vmulcaddc_config\\(\\)")
endif()

set(what "rounded rows that are NaN")
if(is_old)
  et_xnnpack_part(rounding "${what}" HEADER xnnpack_rounding
    BEFORE operator-run CALLS "xnn_f32_qd8_asymmetric_quantization_params\\(minmax")
else()
  et_xnnpack_part(rounding "${what}" HEADER xnnpack_rounding
    BEFORE operator-run CALLS "quantization_params_function\\(minmax\\[0\\], minmax\\[1\\], &scale\\)"
    OPTIONS -DET_XNNPACK_ROUNDING_BY_FUNCTION)
endif()

set(what "small results of transposed convolutions")
if(is_old)
  et_xnnpack_part(deconvolution "${what}" HEADER xnnpack_deconvolution
    BEFORE operators/deconvolution-nhwc indirection CALLS divide_round_up)
else()
  et_xnnpack_without("${what}" "it takes the difference of sizes or zero")
endif()

# Microkernels whose limits would replace NaN.
if(is_x86 AND microkernels)
  get_target_property(sources ${microkernels} SOURCES)
  list(FILTER sources INCLUDE REGEX "^src/(f16|f32|qd8)-.*\\.c$")
  set(call "(_(max|min)_ps|xnn_(max|min)_f32)\\(v(acc|out|scaled)[A-Za-z0-9_]*, *v[a-z_]*(min|max|zero)")
  set(limited)
  foreach(source IN LISTS sources)
    file(STRINGS "${XNNPACK_SOURCE_DIR}/${source}" lines LIMIT_COUNT 1 REGEX "${call}")
    if(lines)
      string(REGEX REPLACE "^src/|\\.c$" "" source "${source}")
      list(APPEND limited "${source}")
    endif()
  endforeach()
  if(NOT limited)
    message(FATAL_ERROR "XNNPACK ${version} cannot be built with limits that let NaN pass: no microkernel calls ${call}.")
  endif()
  et_xnnpack_part(nan "limits that let NaN pass" HEADER xnnpack_nan BEFORE ${limited} CALLS "${call}")
endif()

# Microkernels by the number of output channels (xnnpack_tiles.h).
set(what "our tiles")
if(is_old)
  set(tiles)
  if(is_x86 AND with_avx512)
    foreach(product gemm-4x32 gemm-5x32 gemm-6x32 gemm-8x32 gemm-1x16 gemm-8x16 igemm-1x16 igemm-8x16)
      string(REGEX MATCH "^[a-z]+" folder ${product})
      list(APPEND tiles f32-${folder}/gen/f32-${product}-minmax-avx512f-broadcast)
    endforeach()
    list(APPEND tiles x32-packw/gen/x32-packw-x16-gemm-goi-avx512f-u4-prfm)
  else()
    et_xnnpack_without("the AVX-512 part of our tiles" "this is ${CMAKE_SYSTEM_PROCESSOR}, ET_XNNPACK_ISAS is '${ET_XNNPACK_ISAS}'")
  endif()
  # Each operator calls the number of output channels otherwise.
  et_xnnpack_part(tiles "${what}" OWN xnnpack_tiles.c ADDED ${tiles} HEADER xnnpack_tiles
    BEFORE operators/convolution-nhwc CALLS "xnn_init_f32_gemm_config\\(\\)"
    OPTIONS -DET_XNNPACK_CONV_COLUMNS=group_output_channels)
  et_xnnpack_part(tiles "${what}" HEADER xnnpack_tiles
    BEFORE operators/fully-connected-nc CALLS "xnn_init_f32_gemm_nr2_config\\(\\)"
    OPTIONS -DET_XNNPACK_COLUMNS=output_channels -DET_XNNPACK_NR2_COLUMNS=output_channels)
elseif(is_x86)
  set(tiles)
  foreach(folder gemm igemm)
    list(APPEND tiles f32-${folder}/gen/f32-${folder}-8x16-minmax-avx512f-broadcast)
  endforeach()
  et_xnnpack_part(tiles "${what}" OWN xnnpack_narrow.c ADDED ${tiles} HEADER xnnpack_narrow
    BEFORE operators/convolution-nhwc CALLS "xnn_init_f32_igemm_config\\(\\)" OPTIONS -DET_XNNPACK_CONV_TILES)
  et_xnnpack_part(tiles "${what}" HEADER xnnpack_narrow
    BEFORE operators/fully-connected-nc CALLS "xnn_init_f32_gemm_nr2_config\\(context->flags\\)"
    OPTIONS -DET_XNNPACK_LINEAR_TILES)
else()
  et_xnnpack_without("${what}" "they are for AVX-512")
endif()

# Microkernels for rounded rows (xnnpack_rounded_rows.h).
set(what "our microkernels for rounded rows")
if(is_x86 AND with_avx512)
  set(own xnnpack_rounded_rows.c xnnpack_one_row.c xnnpack_many_rows.c xnnpack_group_packing.c)
  list(TRANSFORM own PREPEND "${CMAKE_CURRENT_LIST_DIR}/" OUTPUT_VARIABLE sources)
  set(row qd8)
  set(added qc4w qc8w)
  if(NOT is_old)
    set(row qdu8)
    set(added qc4w)
    set_property(SOURCE ${sources} TARGET_DIRECTORY XNNPACK APPEND PROPERTY COMPILE_DEFINITIONS ET_XNNPACK_NEWER)
  endif()
  list(TRANSFORM added REPLACE "(.+)" "qd8-f32-\\1-gemm/gen/qd8-f32-\\1-gemm-1x16c8-minmax-avx512vnni")
  et_xnnpack_read_before(xnnpack_nan SOURCES ${added})
  et_xnnpack_part(rounded_rows "${what}" OWN ${own} ADDED ${added} HEADER xnnpack_rounded_rows
    BEFORE operators/fully-connected-nc CALLS "xnn_init_${row}_f32_qb4w_gemm_config\\(\\)"
    OPTIONS -DET_XNNPACK_ROWS_${row})
  # XNNPACK's microkernels are in standard C, in which products and sums are rounded one by one.
  set_property(SOURCE ${sources} TARGET_DIRECTORY XNNPACK APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
else()
  et_xnnpack_without("${what}" "they are for AVX-512")
endif()

set(what "reads of groups of weights that are not aligned")
if(is_old AND is_x86)
  set(tiles 1x4c8-minmax-sse2 4x4c8-minmax-sse2 1x4c8-minmax-sse41 3x4c8-minmax-sse41 1x4c8-minmax-avx 4x4c8-minmax-avx)
  list(TRANSFORM tiles REPLACE "(.+)" "qd8-f32-qb4w-gemm/gen/qd8-f32-qb4w-gemm-\\1-ld128")
  et_xnnpack_part(unaligned "${what}" HEADER xnnpack_unaligned BEFORE ${tiles} CALLS _mm_load_ps)
elseif(is_x86)
  et_xnnpack_without("${what}" "it reads them from any address")
endif()

if(is_aarch64)
  set(tiles)
  foreach(folder gemm igemm)
    list(APPEND tiles qs8-qc8w-${folder}/gen/qs8-qc8w-${folder}-4x16-minmax-fp32-neonv8-mlal-lane)
    foreach(tile 1x16 4x16)
      list(APPEND tiles qd8-f32-qc8w-${folder}/gen/qd8-f32-qc8w-${folder}-${tile}-minmax-neon-mlal-lane)
    endforeach()
  endforeach()
  set(operators convolution-nhwc deconvolution-nhwc fully-connected-nc)
  list(TRANSFORM operators PREPEND operators/)
  et_xnnpack_part(sums "exact sums of 8-bit products" OWN xnnpack_sums.c ADDED ${tiles} HEADER xnnpack_sums
    BEFORE ${operators} CALLS "xnn_init_qs8_qc8w_gemm_config\\(\\)" OPTIONS -DET_XNNPACK_EXACT_SUMS)
endif()

# Rows for KleidiAI's products, rounded as all others are.
if(TARGET kleidiai)
  et_xnnpack_part(kleidiai "rows for KleidiAI" OWN xnnpack_kleidiai.c HEADER xnnpack_kleidiai
    BEFORE configs/pack-lh-config CALLS xnn_x8_packq_f32qp8_ukernel__aarch64_neon_u2)
endif()

# The names of microkernels are for et-xnnpack doctor: an app has no use for them.
if(ET_XNNPACK_BUILD_PYTHON)
  set(what "names of the microkernels that it chooses")
  if(is_old)
    et_xnnpack_part(names "${what}" OWN xnnpack_names.c HEADER xnnpack_names
      BEFORE configs/gemm-config CALLS "= xnn_init_hmp_gemm_ukernel\\(" OPTIONS -DET_XNNPACK_NAMES_OF_PRODUCTS)
  else()
    set(configs argmaxpool avgpool binary-elementwise conv-hwc2chw dwconv gemm ibilinear maxpool raddstoreexpminusmax reduce
      transpose unary-elementwise vmulcaddc)
    list(TRANSFORM configs REPLACE "(.+)" "configs/\\1-config")
    et_xnnpack_part(names "${what}" OWN xnnpack_names.c HEADER xnnpack_names
      BEFORE ${configs} CALLS "xnn_log_info\\(\"Using" OPTIONS -DET_XNNPACK_NAMES_OF_LOG)
    set_property(SOURCE "${CMAKE_CURRENT_LIST_DIR}/xnnpack_names.c" TARGET_DIRECTORY XNNPACK APPEND PROPERTY
      COMPILE_DEFINITIONS ET_XNNPACK_NEWER)
  endif()
endif()
