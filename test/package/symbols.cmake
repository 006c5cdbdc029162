# The library defines et_xnnpack_register for others and nothing else, and takes no symbol of
# XNNPACK or cpuinfo from somebody else's library, unless XNNPACK is that of ExecuTorch's (TAKES is "xnn_").
#
#   cmake -DNM=<nm> -DLIBRARY=<file> [-DTAKES=<prefix>] -P symbols.cmake

set(kind -g)
if(LIBRARY MATCHES "\\.so$")
  set(kind -D)
endif()

# Sets result to the sorted names that nm prints with the given option.
function(symbols result option)
  execute_process(COMMAND "${NM}" ${kind} ${option} "${LIBRARY}"
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${text}")
  list(FILTER lines INCLUDE REGEX " [A-Za-z] [^ ]+$")
  list(TRANSFORM lines REPLACE "^.* [A-Za-z] ([^ ]+)$" "\\1")
  list(SORT lines)
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

symbols(defined --defined-only)
if(NOT defined STREQUAL "et_xnnpack_register")
  list(JOIN defined "\n  " defined)
  message(FATAL_ERROR "${LIBRARY} defines:\n  ${defined}\nexpected only et_xnnpack_register")
endif()

symbols(undefined --undefined-only)
list(FILTER undefined INCLUDE REGEX "^(xnn_|cpuinfo_|_ZN3hwy|_ZN11flatbuffers)")
if(TAKES)
  set(taken ${undefined})
  list(FILTER taken INCLUDE REGEX "^${TAKES}")
  if(NOT taken)
    message(FATAL_ERROR "${LIBRARY} takes no ${TAKES} from other libraries, so it contains another XNNPACK.")
  endif()
  list(REMOVE_ITEM undefined ${taken})
endif()
if(undefined)
  message(FATAL_ERROR "${LIBRARY} takes from other libraries: ${undefined}")
endif()
