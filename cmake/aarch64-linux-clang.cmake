# The same with Clang, which compiles what GCC before 14 cannot (SME), and Debian's C library for aarch64.

include("${CMAKE_CURRENT_LIST_DIR}/aarch64-linux-gnu.cmake")
find_program(ET_XNNPACK_CLANG NAMES clang-19 clang REQUIRED)
find_program(ET_XNNPACK_CLANGXX NAMES clang++-19 clang++ REQUIRED)
mark_as_advanced(ET_XNNPACK_CLANG ET_XNNPACK_CLANGXX)
set(CMAKE_C_COMPILER "${ET_XNNPACK_CLANG}")
set(CMAKE_CXX_COMPILER "${ET_XNNPACK_CLANGXX}")
foreach(language C CXX ASM)
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-gnu)
endforeach()
