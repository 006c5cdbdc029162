# One self-contained libet_xnnpack.a.

# A program names nothing of ours, so without this the linker would leave an archive of ours out.
function(et_xnnpack_keep_registration target)
  if(APPLE)
    target_link_options(${target} INTERFACE "LINKER:-u,_et_xnnpack_register")
  else()
    target_link_options(${target} INTERFACE "LINKER:--undefined=et_xnnpack_register")
  endif()
endfunction()

# Sets result to whether this linker and objcopy can make one archive whose symbols are local.
function(et_xnnpack_can_make_local result)
  set(can FALSE)
  if(NOT APPLE AND NOT WIN32 AND CMAKE_LINKER AND CMAKE_OBJCOPY)
    execute_process(COMMAND "${CMAKE_LINKER}" --help OUTPUT_VARIABLE help ERROR_QUIET)
    if(help MATCHES "force-group-allocation")
      set(can TRUE)
    endif()
  endif()
  set(${result} ${can} PARENT_SCOPE)
endfunction()

# Adds a static library of our code and all static dependencies. Where the tools can, everything but
# et_xnnpack_register becomes local, so that it links beside another XNNPACK in the same program.
function(et_xnnpack_add_static_archive target)
  set(inputs $<TARGET_OBJECTS:et_xnnpack_core> $<TARGET_OBJECTS:cpuinfo>)
  set(archives ${ET_XNNPACK_XNNPACK_ARCHIVES} hwy kissfft)
  set(archive_files ${archives})
  list(TRANSFORM archive_files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  if(ET_XNNPACK_LOCAL_SYMBOLS)
    et_xnnpack_merge_into_object("${CMAKE_CURRENT_BINARY_DIR}/et_xnnpack_merged.o")
    add_library(${target} STATIC "${CMAKE_CURRENT_BINARY_DIR}/et_xnnpack_merged.o")
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME et_xnnpack)
  else()
    et_xnnpack_add_joined_archive(${target})
  endif()
  add_library(et_xnnpack::${target} ALIAS ${target})
  target_link_libraries(${target} INTERFACE ${ET_XNNPACK_EXECUTORCH_TARGETS})
  et_xnnpack_keep_registration(${target})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime> $<INSTALL_INTERFACE:include>)
endfunction()

# `inputs` and `archives` as one object file, in which everything but et_xnnpack_register is local.
function(et_xnnpack_merge_into_object object)
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o "${object}.all"
      ${inputs} --start-group ${archive_files} --end-group
    COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=et_xnnpack_register "${object}.all" "${object}"
    COMMAND "${CMAKE_COMMAND}" -E rm "${object}.all"
    DEPENDS ${inputs} ${archives} ${archive_files}
    COMMENT "Merging our code and its dependencies into one object"
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()

# The same as an archive with all their members, whose symbols the whole program sees.
function(et_xnnpack_add_joined_archive target)
  message(STATUS
    "libet_xnnpack.a shows the symbols of XNNPACK and cpuinfo: it cannot be linked beside others, such as those of ExecuTorch's delegate")
  set(objects "${CMAKE_CURRENT_BINARY_DIR}/libet_xnnpack_objects.a")
  add_library(et_xnnpack_objects STATIC EXCLUDE_FROM_ALL ${inputs})
  set_target_properties(et_xnnpack_objects PROPERTIES LINKER_LANGUAGE CXX)
  # CMake wants a source of what the command below writes anew.
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/et_xnnpack_joined.cpp" CONTENT "")
  add_library(${target} STATIC "${CMAKE_CURRENT_BINARY_DIR}/et_xnnpack_joined.cpp")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME et_xnnpack)
  add_dependencies(${target} et_xnnpack_objects ${archives})
  set(all $<TARGET_FILE:et_xnnpack_objects> ${archive_files})
  if(APPLE)
    set(join libtool -static -o $<TARGET_FILE:${target}> ${all})
  else()
    set(script "${CMAKE_CURRENT_BINARY_DIR}/join_$<CONFIG>.mri")
    file(GENERATE OUTPUT "${script}" CONTENT
      "CREATE $<TARGET_FILE:${target}>\nADDLIB $<JOIN:${all},\nADDLIB >\nSAVE\nEND\n")
    set(join "${CMAKE_COMMAND}" "-DAR=${CMAKE_AR}" "-DSCRIPT=${script}" -P
      "${PROJECT_SOURCE_DIR}/cmake/JoinArchives.cmake")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${join} VERBATIM COMMAND_EXPAND_LISTS)
endfunction()
