# The licences of what our binaries contain, in one file that is installed with them.

# Adds the licence of a project from the folder where it lies.
function(et_xnnpack_add_notice name folder)
  file(GLOB licences LIST_DIRECTORIES false
    "${folder}/LICENSE*" "${folder}/LICENCE*" "${folder}/COPYING*" "${folder}/NOTICE*" "${folder}/LICENSES/*")
  if(NOT licences)
    message(FATAL_ERROR
      "${name} has no licence in ${folder}, and what is built contains its code: its terms must be passed on.")
  endif()
  set(text "")
  foreach(licence IN LISTS licences)
    file(READ "${licence}" terms)
    string(APPEND text "\n${terms}")
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${licence}")
  endforeach()
  string(REPEAT "=" 100 line)
  set_property(GLOBAL APPEND_STRING PROPERTY ET_XNNPACK_NOTICES "\n${line}\n${name}\n${line}\n${text}")
endfunction()

# Writes the file and has it installed.
function(et_xnnpack_install_notices)
  get_property(notices GLOBAL PROPERTY ET_XNNPACK_NOTICES)
  set(file "${PROJECT_BINARY_DIR}/THIRD-PARTY-NOTICES")
  file(CONFIGURE OUTPUT "${file}" CONTENT
    "The libraries of et_xnnpack contain code of the following projects, each under its own terms.\n@notices@" @ONLY)
  # In a wheel beside our own licence.
  set(folder licenses)
  if(SKBUILD_METADATA_DIR)
    set(folder "${SKBUILD_METADATA_DIR}/licenses")
  endif()
  install(FILES "${file}" DESTINATION "${folder}")
endfunction()
