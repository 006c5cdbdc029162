# The XNNPACK in ExecuTorch's shared library of its own delegate, for Xnnpack.cmake. Its package has no header of it:
# executorch/xnnpack.h declares what we call. Nothing of ours is in it; runtime/xnnpack/parts.h says what then happens.

set(what_to_do "Configure with -DET_XNNPACK_XNNPACK_VERSION=4ea82e5 or 92a7ad5, which builds XNNPACK.")
if(NOT TARGET executorch::backend_xnnpack)
  message(FATAL_ERROR
    "ET_XNNPACK_XNNPACK_VERSION is executorch, and this ExecuTorch has no shared library with XNNPACK "
    "(executorch::backend_xnnpack): only its Python package has. ${what_to_do}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/XnnpackFunctions.cmake")
get_target_property(library executorch::backend_xnnpack LOCATION)
et_xnnpack_missing_functions(missing "${CMAKE_NM}" "${library}")
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR
    "ET_XNNPACK_XNNPACK_VERSION is executorch, and the XNNPACK in ${library} lacks what et_xnnpack calls: ${missing}. "
    "It is another version than that of ExecuTorch ${ET_XNNPACK_EXECUTORCH_VERSION}. ${what_to_do}")
endif()
set(version "92a7ad5 of ExecuTorch ${EXECUTORCH_BUILD_VERSION}")
set(ET_XNNPACK_XNNPACK_PARTS)
message(STATUS "XNNPACK ${version}: ${library}")

# Whoever links us links it too: it registers ExecuTorch's delegate, which programs beside ours may need.
list(APPEND ET_XNNPACK_EXECUTORCH_TARGETS executorch::backend_xnnpack)
set(ET_XNNPACK_EXECUTORCH_TARGETS "${ET_XNNPACK_EXECUTORCH_TARGETS}" PARENT_SCOPE)

add_library(XNNPACK INTERFACE)
target_include_directories(XNNPACK SYSTEM INTERFACE "${CMAKE_CURRENT_LIST_DIR}/executorch")
# Not the target itself, for the reasons in cmake/ExecuTorch.cmake.
target_link_libraries(XNNPACK INTERFACE $<TARGET_LINKER_FILE:executorch::backend_xnnpack> pthreadpool)
