# What is installed, and where. The folder is the package folder: in a wheel it is
# executorch/backends/et_xnnpack (wheel.install-dir in pyproject.toml).

include(CMakePackageConfigHelpers)
include(Notices)

set(libraries)
foreach(library et_xnnpack et_xnnpack_static)
  if(TARGET ${library})
    list(APPEND libraries ${library})
  endif()
endforeach()

if(ET_XNNPACK_IN_TREE)
  install(TARGETS ${libraries} LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
  return()
endif()

if(APPLE)
  set(origin "@loader_path")
else()
  set(origin "$ORIGIN")
endif()
# Where ExecuTorch's own libraries are, seen from lib/ and from the package folder in a wheel.
if(ET_XNNPACK_BUILD_SHARED)
  set_target_properties(et_xnnpack PROPERTIES INSTALL_RPATH "${origin}/../../../lib")
endif()
install(TARGETS ${libraries} EXPORT et_xnnpack-targets
  LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(FILES "${PROJECT_SOURCE_DIR}/runtime/et_xnnpack.h" DESTINATION include)
et_xnnpack_install_notices()

set(cmake_folder lib/cmake/et_xnnpack)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/et_xnnpack-config.cmake.in"
  "${PROJECT_BINARY_DIR}/et_xnnpack-config.cmake"
  INSTALL_DESTINATION ${cmake_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/et_xnnpack-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/et_xnnpack-config.cmake"
  "${PROJECT_BINARY_DIR}/et_xnnpack-config-version.cmake"
  DESTINATION ${cmake_folder})
install(EXPORT et_xnnpack-targets NAMESPACE et_xnnpack:: DESTINATION ${cmake_folder})

if(NOT ET_XNNPACK_BUILD_PYTHON)
  return()
endif()

if(TARGET _runtime)
  set_target_properties(_runtime PROPERTIES
    INSTALL_RPATH "${origin}/lib;${origin}/../../lib")
  install(TARGETS _runtime LIBRARY DESTINATION .)
endif()
set(ET_XNNPACK_IS_AOT_ONLY False)
configure_file("${PROJECT_SOURCE_DIR}/cmake/_version.py.in" "${PROJECT_BINARY_DIR}/_version.py" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/_version.py" DESTINATION .)
install(FILES ${ET_XNNPACK_SCHEMA_MODULE} DESTINATION serialization)

if(ET_XNNPACK_EDITABLE)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/editable_init.py.in" "${PROJECT_BINARY_DIR}/__init__.py" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/__init__.py" DESTINATION .)
else()
  file(GLOB modules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/*.py")
  install(FILES ${modules} DESTINATION .)
  foreach(folder aot serialization)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/" DESTINATION ${folder}
      FILES_MATCHING PATTERN "*.py" PATTERN "*.html" PATTERN "*.css" PATTERN "*.js" PATTERN "__pycache__" EXCLUDE
      PATTERN "schema_generated.py" EXCLUDE)
  endforeach()
endif()
