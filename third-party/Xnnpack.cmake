# XNNPACK with the microkernels that its own dispatch uses, and nothing else.
#
# Targets: et_xnnpack_xnnpack (what to link), et_xnnpack_xnnpack_internals (its private headers, where it is built here).
# ET_XNNPACK_XNNPACK_PIN is its entry in dependencies.json, empty if it is that of the project around us or of ExecuTorch.
# In the parent: ET_XNNPACK_XNNPACK_NAME, its version and what of ours is in it; ET_XNNPACK_XNNPACK_ARCHIVES.

# The name of the microkernel library changed upstream.
set(names microkernels-prod xnnpack-microkernels-prod)

set(ET_XNNPACK_XNNPACK_KLEIDIAI OFF)
if(TARGET XNNPACK)
  get_target_property(XNNPACK_SOURCE_DIR XNNPACK SOURCE_DIR)
  set(version "of the project around us")
  set(ET_XNNPACK_XNNPACK_PARTS)
  message(STATUS "XNNPACK is that of the project around us: nothing of ours is added to it")
elseif(ET_XNNPACK_XNNPACK_VERSION STREQUAL "executorch")
  include("${CMAKE_CURRENT_LIST_DIR}/XnnpackExecutorch.cmake")
else()
  et_xnnpack_pin(version ${ET_XNNPACK_XNNPACK_PIN} version)
  et_xnnpack_source(xnnpack PIN ${ET_XNNPACK_XNNPACK_PIN})
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -I "${CMAKE_CURRENT_LIST_DIR}/fetch.py" --complete "${XNNPACK_SOURCE_DIR}"
    OUTPUT_VARIABLE XNNPACK_SOURCE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(ET_XNNPACK_PREBUILT_XNNPACK)
    include("${CMAKE_CURRENT_LIST_DIR}/XnnpackPrebuilt.cmake")
  else()
    include("${CMAKE_CURRENT_LIST_DIR}/XnnpackBuild.cmake")
  endif()
endif()

set(archives)
foreach(name IN LISTS names ITEMS kleidiai)
  if(TARGET ${name})
    list(APPEND archives ${name})
  endif()
endforeach()
get_target_property(type XNNPACK TYPE)
if(NOT type STREQUAL "INTERFACE_LIBRARY")
  list(PREPEND archives XNNPACK)
endif()
set(ET_XNNPACK_XNNPACK_ARCHIVES ${archives} PARENT_SCOPE)
list(JOIN ET_XNNPACK_XNNPACK_PARTS " " parts)
set(ET_XNNPACK_XNNPACK_NAME "${version} (${parts})" PARENT_SCOPE)

add_library(et_xnnpack_xnnpack INTERFACE)
target_link_libraries(et_xnnpack_xnnpack INTERFACE XNNPACK ${archives} cpuinfo pthreadpool)

if(NOT XNNPACK_SOURCE_DIR)
  return()
endif()
add_library(et_xnnpack_xnnpack_internals INTERFACE)
target_include_directories(et_xnnpack_xnnpack_internals SYSTEM INTERFACE
  "${XNNPACK_SOURCE_DIR}/include" "${XNNPACK_SOURCE_DIR}/src" "${XNNPACK_SOURCE_DIR}")
target_link_libraries(et_xnnpack_xnnpack_internals INTERFACE pthreadpool fxdiv)
