# Whether XNNPACK calls what we have added to it.
#
#   cmake -DNM=<nm> -DLIBRARY=<libXNNPACK.a> "-DSYMBOLS=<functions of ours>" -P parts.cmake

execute_process(COMMAND "${NM}" -u "${LIBRARY}" OUTPUT_VARIABLE used ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT SYMBOLS)
  message(FATAL_ERROR "There is nothing to look for.")
endif()
foreach(symbol IN LISTS SYMBOLS)
  if(NOT used MATCHES " U _?${symbol}\n")
    message(FATAL_ERROR "${LIBRARY} does not call ${symbol}.")
  endif()
endforeach()
