# Prints which XNNPACK is chosen, with neither network nor git.
#
#   cmake -DSOURCE=<checkout> -DFOLDER=<scratch> -DPython_EXECUTABLE=<python> -DWANTED=<version> -DCACHED=<folders>
#     -DGIVEN=<text of a header> -DPROCESSOR=<of the machine to build for> -P xnnpack_version.cmake

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}/nothing")
foreach(name IN LISTS CACHED)
  file(MAKE_DIRECTORY "${FOLDER}/cache/sources/${name}")
endforeach()
if(GIVEN)
  file(WRITE "${FOLDER}/given/include/xnnpack.h" "${GIVEN}\n")
  set(FETCHCONTENT_SOURCE_DIR_XNNPACK "${FOLDER}/given")
endif()
set(ENV{PATH} "${FOLDER}/nothing")
set(ENV{ET_XNNPACK_CACHE_DIR} "${FOLDER}/cache")
set(ENV{ET_XNNPACK_ARCHIVES} "")
set(PROJECT_SOURCE_DIR "${SOURCE}")
set(ET_XNNPACK_XNNPACK_VERSION "${WANTED}")
set(CMAKE_SYSTEM_PROCESSOR "${PROCESSOR}")
include("${SOURCE}/third-party/XnnpackVersion.cmake")
foreach(turn first second)
  et_xnnpack_choose_xnnpack()
  message(STATUS "${turn}: ${ET_XNNPACK_XNNPACK_PIN}")
  file(REMOVE_RECURSE "${FOLDER}/cache/sources")
endforeach()
