# Which libraries are built. A program has one ExecuTorch, with its registry of backends and its thread pool:
#
# ExecuTorch is                       et_xnnpack                            et_xnnpack_static
# a shared library                    a shared library                      an archive with all that it needs, on request
# archives, installed                 nothing: it would contain another one  that archive
# archives, in the tree around us     an archive that needs others           on request

include(StaticArchive)
et_xnnpack_can_make_local(ET_XNNPACK_LOCAL_SYMBOLS)
set(ET_XNNPACK_BUILD_SHARED ${ET_XNNPACK_EXECUTORCH_SHARED})
set(with_static ${ET_XNNPACK_LOCAL_SYMBOLS})
if(ET_XNNPACK_IN_TREE OR SKBUILD)
  set(with_static OFF)
elseif(NOT ET_XNNPACK_BUILD_SHARED)
  set(with_static ON)
endif()
option(ET_XNNPACK_BUILD_STATIC "Build libet_xnnpack.a with all that it needs" ${with_static})

if(NOT ET_XNNPACK_BUILD_SHARED AND NOT ET_XNNPACK_IN_TREE)
  if(ET_XNNPACK_BUILD_PYTHON)
    message(FATAL_ERROR
      "The Python module needs the ExecuTorch of the Python package, and the one in ${executorch_DIR} is archives. "
      "Configure with -DET_XNNPACK_BUILD_PYTHON=OFF.")
  endif()
  if(NOT ET_XNNPACK_BUILD_STATIC)
    message(FATAL_ERROR
      "The ExecuTorch in ${executorch_DIR} is archives, of which a shared library of ours would contain a second copy, and "
      "ET_XNNPACK_BUILD_STATIC is OFF: there is nothing to build.")
  endif()
endif()
