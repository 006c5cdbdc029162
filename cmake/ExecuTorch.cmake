# Finds ExecuTorch. et_xnnpack_executorch is what our code links; ET_XNNPACK_EXECUTORCH_TARGETS are
# ExecuTorch's own targets, for those who link us.
#
# The version in requirements.txt is the only one accepted: ExecuTorch promises no stable C++ ABI.

add_library(et_xnnpack_executorch INTERFACE)

file(STRINGS "${PROJECT_SOURCE_DIR}/requirements.txt" ET_XNNPACK_EXECUTORCH_VERSION
  REGEX "^executorch==")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" ET_XNNPACK_EXECUTORCH_VERSION
  "${ET_XNNPACK_EXECUTORCH_VERSION}")

if(ET_XNNPACK_IN_TREE)
  # With EXECUTORCH_BUILD_SHARED the registry of backends is in a library of another name.
  set(core executorch_core)
  if(TARGET executorch_shared)
    set(core executorch_shared)
  endif()
  get_target_property(type ${core} TYPE)
  string(COMPARE EQUAL "${type}" SHARED_LIBRARY ET_XNNPACK_EXECUTORCH_SHARED)
  if(NOT TARGET extension_threadpool)
    message(FATAL_ERROR
      "et_xnnpack shares ExecuTorch's thread pool, but there is no target extension_threadpool. "
      "Configure ExecuTorch with -DEXECUTORCH_BUILD_PTHREADPOOL=ON -DEXECUTORCH_BUILD_CPUINFO=ON, "
      "and add et_xnnpack after extension/threadpool.")
  endif()
  set(ET_XNNPACK_EXECUTORCH_TARGETS ${core} extension_threadpool)
  target_link_libraries(et_xnnpack_executorch INTERFACE ${ET_XNNPACK_EXECUTORCH_TARGETS})
  return()
endif()

# The checkout's own environment comes before the system's Python.
if(NOT Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV}
   AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()
set(Python_FIND_VIRTUALENV FIRST)
set(components Interpreter)
if(ET_XNNPACK_BUILD_PYTHON)
  list(APPEND components Development.Module)
endif()
find_package(Python 3.10 REQUIRED COMPONENTS ${components})

# Sets result to the folder of the installed executorch package, or to nothing.
function(et_xnnpack_find_executorch_package result)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/find_executorch.py"
    OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "${root}" PARENT_SCOPE)
endfunction()

# What Python has is for the machine that builds.
if(CMAKE_CROSSCOMPILING)
  set(how_to
    "Name the folder of one that was built for ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}, with "
    "-DCMAKE_PREFIX_PATH=<folder>: what `cmake --install` wrote, or (where there is a wheel for that system) "
    "<unpacked wheel>/executorch. setup.md has the steps.")
else()
  # scikit-build-core (SKBUILD) names folders of its own in CMAKE_PREFIX_PATH where it builds in isolation.
  if((NOT CMAKE_PREFIX_PATH OR SKBUILD) AND NOT executorch_DIR AND NOT executorch_ROOT)
    et_xnnpack_find_executorch_package(executorch_ROOT)
  endif()
  set(how_to
    "Install it with: ${Python_EXECUTABLE} -m pip install executorch==${ET_XNNPACK_EXECUTORCH_VERSION}\n"
    "Or point to it with -DPython_EXECUTABLE=<python> or -DCMAKE_PREFIX_PATH=<site-packages>/executorch")
endif()
string(CONCAT how_to ${how_to})
list(APPEND CMAKE_MESSAGE_INDENT "  ")
# In a folder of its own: an ExecuTorch that was installed from its sources brings targets such as XNNPACK.
add_subdirectory("${CMAKE_CURRENT_LIST_DIR}/executorch" "${PROJECT_BINARY_DIR}/executorch")
list(POP_BACK CMAKE_MESSAGE_INDENT)
get_property(installed GLOBAL PROPERTY ET_XNNPACK_EXECUTORCH_KIND)
if(NOT installed)
  message(FATAL_ERROR
    "et_xnnpack found no ExecuTorch ${ET_XNNPACK_EXECUTORCH_VERSION} with a C++ package.\n${how_to}")
endif()

# Its targets have names of their own there, and it does not say its version.
if(installed STREQUAL "installed")
  get_property(core GLOBAL PROPERTY ET_XNNPACK_INSTALLED_EXECUTORCH)
  get_property(ET_XNNPACK_EXECUTORCH_SHARED GLOBAL PROPERTY ET_XNNPACK_INSTALLED_EXECUTORCH_SHARED)
  set(ET_XNNPACK_EXECUTORCH_TARGETS ${core} extension_threadpool)
  target_link_libraries(et_xnnpack_executorch INTERFACE et_xnnpack_installed_executorch)
  message(STATUS
    "ExecuTorch: ${executorch_DIR}, installed from its sources, which must be those of ${ET_XNNPACK_EXECUTORCH_VERSION}")
  return()
endif()

set(ET_XNNPACK_EXECUTORCH_SHARED TRUE)
find_package(executorch CONFIG QUIET CMAKE_FIND_ROOT_PATH_BOTH)
string(REGEX REPLACE "\\+.*$" "" found_version "${EXECUTORCH_BUILD_VERSION}")
if(NOT found_version STREQUAL ET_XNNPACK_EXECUTORCH_VERSION)
  message(FATAL_ERROR
    "et_xnnpack needs exactly ExecuTorch ${ET_XNNPACK_EXECUTORCH_VERSION}, and "
    "${executorch_DIR} is ${EXECUTORCH_BUILD_VERSION}.\n${how_to}")
endif()
foreach(target executorch::runtime executorch::threadpool)
  if(NOT TARGET ${target})
    message(FATAL_ERROR
      "The ExecuTorch package in ${executorch_DIR} has no ${target}, so nothing can be linked to it.")
  endif()
endforeach()
message(STATUS "ExecuTorch ${EXECUTORCH_BUILD_VERSION}: ${executorch_DIR}")
set(ET_XNNPACK_EXECUTORCH_TARGETS executorch::runtime executorch::threadpool)
# Not the targets themselves: their link options would write this machine's site-packages into the
# run path of what we install, and put their libraries before our archives.
foreach(target IN LISTS ET_XNNPACK_EXECUTORCH_TARGETS)
  target_link_libraries(et_xnnpack_executorch INTERFACE
    $<COMPILE_ONLY:${target}> $<TARGET_LINKER_FILE:${target}>)
endforeach()
