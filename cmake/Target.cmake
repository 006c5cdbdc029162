# What every target of our own has in common.

# Applies warnings, sanitizers and section flags to a target of our own code.
function(et_xnnpack_own target)
  target_compile_features(${target} PRIVATE cxx_std_17)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    -ffunction-sections -fdata-sections)
  if("undefined" IN_LIST ET_XNNPACK_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=undefined -fno-sanitize-recover=undefined)
  endif()
  set_target_properties(${target} PROPERTIES COMPILE_WARNING_AS_ERROR ${ET_XNNPACK_WERROR})
endfunction()
