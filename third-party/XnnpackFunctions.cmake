# The functions that we call of the XNNPACK in ExecuTorch's package, and whether a library has them.

# Sets `result` to the names that executorch/xnnpack.h declares.
function(et_xnnpack_declared_functions result)
  file(STRINGS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/executorch/xnnpack.h" lines REGEX "xnn_")
  string(REGEX MATCHALL "xnn_(initialize|experimental|run|delete_operator|create|reshape|setup)[a-z0-9_]*" names "${lines}")
  list(REMOVE_DUPLICATES names)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# Sets `result` to the names that runtime/xnnpack/rounded_rows.h declares, which XNNPACK's public header lacks.
function(et_xnnpack_functions_of_unsigned_rows result)
  file(STRINGS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../runtime/xnnpack/rounded_rows.h" lines REGEX "_qdu8")
  string(REGEX MATCHALL "xnn_[a-z0-9_]+_qdu8[a-z0-9_]*" names "${lines}")
  list(REMOVE_DUPLICATES names)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# Sets `result` to those that a shared library does not export.
function(et_xnnpack_missing_functions result nm library)
  et_xnnpack_declared_functions(names)
  et_xnnpack_functions_of_unsigned_rows(more)
  list(APPEND names ${more})
  set(option -D)
  if(library MATCHES "\\.dylib$")
    set(option -g)
  endif()
  execute_process(COMMAND "${nm}" ${option} "${library}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " T _?xnn_[a-z0-9_]+" exported "${symbols}")
  list(TRANSFORM exported REPLACE " T _?" "")
  list(REMOVE_ITEM names ${exported})
  set(${result} "${names}" PARENT_SCOPE)
endfunction()
