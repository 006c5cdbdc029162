# third-party/executorch/xnnpack.h and runtime/xnnpack/rounded_rows.h declare the functions of XNNPACK that the runtime
# calls and no others, and the library of ExecuTorch's package exports them. Built with an XNNPACK that lacks those of the
# second, the runtime calls none of these.
#
#   cmake -DNM=<nm> -DHEADER=<file> "-DOBJECTS=<object files of the runtime>" -DLIBRARY=<file> -P functions.cmake

include("${CMAKE_CURRENT_LIST_DIR}/../../third-party/XnnpackFunctions.cmake")
et_xnnpack_declared_functions(declared)
et_xnnpack_missing_functions(missing "${NM}" "${LIBRARY}")

execute_process(COMMAND "${NM}" -u ${OBJECTS} OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " U _?xnn_[a-z0-9_]+" called "${symbols}")
list(TRANSFORM called REPLACE " U _?" "")
list(REMOVE_DUPLICATES called)
et_xnnpack_functions_of_unsigned_rows(unsigned)
if(NOT unsigned)
  message(FATAL_ERROR "runtime/xnnpack/rounded_rows.h declares nothing.")
endif()
if(called MATCHES "_qdu8")
  list(APPEND declared ${unsigned})
endif()
list(SORT called)
list(SORT declared)
if(NOT called)
  message(FATAL_ERROR "The runtime calls nothing of XNNPACK.")
endif()
if(NOT called STREQUAL declared)
  set(more ${declared})
  list(REMOVE_ITEM more ${called})
  list(REMOVE_ITEM called ${declared})
  message(FATAL_ERROR "Declared and not called: ${more}\nCalled and not declared: ${called}")
endif()
if(missing)
  message(FATAL_ERROR "${LIBRARY} does not export: ${missing}")
endif()
