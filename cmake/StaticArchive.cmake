# One self-contained libet_xnnpack.a.

# Adds a static library of our code and all static dependencies. On ELF with GNU tools everything but
# et_xnnpack_register becomes local, so that it links beside another XNNPACK in the same program.
function(et_xnnpack_add_static_archive target)
  set(inputs $<TARGET_OBJECTS:et_xnnpack_core> $<TARGET_OBJECTS:cpuinfo>)
  set(archives XNNPACK ${ET_XNNPACK_MICROKERNELS} hwy)
  set(archive_files ${archives})
  list(TRANSFORM archive_files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  set(object "${CMAKE_CURRENT_BINARY_DIR}/et_xnnpack_merged.o")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o "${object}.all"
      ${inputs} --start-group ${archive_files} --end-group
    COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=et_xnnpack_register "${object}.all" "${object}"
    COMMAND "${CMAKE_COMMAND}" -E rm "${object}.all"
    DEPENDS ${inputs} ${archives} ${archive_files}
    COMMENT "Merging our code and its dependencies into one object"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${target} STATIC "${object}")
  add_library(et_xnnpack::${target} ALIAS ${target})
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME et_xnnpack)
  target_link_libraries(${target} INTERFACE ${ET_XNNPACK_EXECUTORCH_TARGETS})
  # The program names nothing of ours, so without this the linker would leave the archive out.
  target_link_options(${target} INTERFACE "LINKER:--undefined=et_xnnpack_register")
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime> $<INSTALL_INTERFACE:include>)
endfunction()
