# Finds the source of a dependency. third-party/README.md describes the order.

include(Notices)

# Sets <NAME>_SOURCE_DIR in the caller to the folder with the source of a dependency. PIN is the entry of
# dependencies.json if that is not the name.
function(et_xnnpack_source name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PIN" "")
  if(NOT arg_PIN)
    set(arg_PIN "${name}")
  endif()
  string(TOUPPER "${name}" upper)
  file(READ "${PROJECT_SOURCE_DIR}/third-party/dependencies.json" pins)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/third-party/dependencies.json")
  string(JSON marker GET "${pins}" "${arg_PIN}" marker)
  string(JSON in_library GET "${pins}" "${arg_PIN}" in_library)

  if(FETCHCONTENT_SOURCE_DIR_${upper})
    set(folder "${FETCHCONTENT_SOURCE_DIR_${upper}}")
    if(NOT EXISTS "${folder}/${marker}")
      message(FATAL_ERROR "FETCHCONTENT_SOURCE_DIR_${upper} is ${folder}, which has no ${marker}.")
    endif()
  elseif(EXISTS "${PROJECT_SOURCE_DIR}/third-party/${name}/${marker}")
    set(folder "${PROJECT_SOURCE_DIR}/third-party/${name}")
  else()
    if(NOT Python_EXECUTABLE)
      find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
    endif()
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -I "${PROJECT_SOURCE_DIR}/third-party/fetch.py" "${arg_PIN}"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "The source of ${arg_PIN} could not be had; the lines above say what was tried.")
    endif()
  endif()
  message(STATUS "${name}: ${folder}")
  if(in_library)
    et_xnnpack_add_notice(${name} "${folder}")
  endif()
  set(${upper}_SOURCE_DIR "${folder}" PARENT_SCOPE)
endfunction()
