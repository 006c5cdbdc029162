# The XNNPACK of another build of ours, in ET_XNNPACK_PREBUILT_XNNPACK, for Xnnpack.cmake. What it was built from, and
# what of ours is in it, it has said in et_xnnpack.cmake (XnnpackBuild.cmake); other builds do not.

find_library(xnnpack_library XNNPACK PATHS "${ET_XNNPACK_PREBUILT_XNNPACK}"
  NO_CACHE NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_library(microkernels_library NAMES ${names} PATHS "${ET_XNNPACK_PREBUILT_XNNPACK}"
  NO_CACHE NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_library(kleidiai_library kleidiai PATHS "${ET_XNNPACK_PREBUILT_XNNPACK}/kleidiai"
  NO_CACHE NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)

function(et_xnnpack_import name library)
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION "${library}")
endfunction()
et_xnnpack_import(XNNPACK "${xnnpack_library}")
list(GET names 0 microkernels)
et_xnnpack_import(${microkernels} "${microkernels_library}")
target_link_libraries(XNNPACK INTERFACE ${microkernels})
if(kleidiai_library)
  et_xnnpack_import(kleidiai "${kleidiai_library}")
  target_link_libraries(XNNPACK INTERFACE kleidiai)
  et_xnnpack_source(kleidiai)
endif()
target_include_directories(XNNPACK SYSTEM INTERFACE "${XNNPACK_SOURCE_DIR}/include")
target_compile_definitions(XNNPACK INTERFACE XNN_LOG_LEVEL=0)
target_link_libraries(XNNPACK INTERFACE pthreadpool m)
message(STATUS "XNNPACK ${version} is as it was built in ${ET_XNNPACK_PREBUILT_XNNPACK}")
