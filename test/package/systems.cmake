# How the build is configured for systems that we have no tools for, as far as that runs here: with Clang for their
# processor, without their headers, and without linking anything.
find_program(ET_XNNPACK_CLANG NAMES clang-19 clang)
if(NOT ET_XNNPACK_CLANG)
  message(STATUS "The build for phones is not tested: there is no Clang")
  return()
endif()
string(REGEX REPLACE "clang(-[0-9]+)?$" "clang++\\1" clangxx "${ET_XNNPACK_CLANG}")

function(et_xnnpack_add_system name target expected)
  add_test(NAME package.system.${name}
    COMMAND "${CMAKE_COMMAND}" -G "${CMAKE_GENERATOR}" --fresh -S "${PROJECT_SOURCE_DIR}"
      -B "${CMAKE_CURRENT_BINARY_DIR}/system/${name}"
      "-DCMAKE_C_COMPILER=${ET_XNNPACK_CLANG}" "-DCMAKE_CXX_COMPILER=${clangxx}"
      "-DCMAKE_C_COMPILER_TARGET=${target}" "-DCMAKE_CXX_COMPILER_TARGET=${target}" "-DCMAKE_ASM_COMPILER_TARGET=${target}"
      -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY "-DPython_EXECUTABLE=${Python_EXECUTABLE}"
      "-DCMAKE_PREFIX_PATH=${installed}" ${ARGN})
  set_tests_properties(package.system.${name} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

# CMake tells the system by the name of the folder, and looks for the tool.
set(sdk "${CMAKE_CURRENT_BINARY_DIR}/system/iPhoneOS.sdk")
file(MAKE_DIRECTORY "${sdk}")
set(mac "-DCMAKE_OSX_SYSROOT=${sdk}" -DCMAKE_OSX_ARCHITECTURES=arm64 -DCMAKE_INSTALL_NAME_TOOL=true)
set(shows_symbols "libet_xnnpack.a shows the symbols of XNNPACK.*Build files have been written")
# Version 1 is for toolchains that CMake does not know; the presets use the NDK's own.
et_xnnpack_add_system(android aarch64-linux-android26 "Build files have been written"
  -DCMAKE_SYSTEM_NAME=Android -DCMAKE_SYSTEM_VERSION=1 -DCMAKE_SYSTEM_PROCESSOR=aarch64
  -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "-DCMAKE_FIND_ROOT_PATH=${CMAKE_CURRENT_BINARY_DIR}/no-system")
et_xnnpack_add_system(ios arm64-apple-ios17.0 "${shows_symbols}"
  -DCMAKE_SYSTEM_NAME=iOS -DCMAKE_SYSTEM_PROCESSOR=arm64 ${mac})
et_xnnpack_add_system(macos arm64-apple-macos12.0 "${shows_symbols}"
  -DCMAKE_SYSTEM_NAME=Darwin -DCMAKE_SYSTEM_PROCESSOR=arm64 ${mac})
