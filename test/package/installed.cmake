# An ExecuTorch that was installed from its sources is found, also for a machine whose packages CMake looks for in a folder
# of its own alone, as the Android NDK has it. What it contains is that of the wheel.
set(installed "${CMAKE_CURRENT_BINARY_DIR}/installed-executorch")
get_target_property(runtime_file executorch::runtime LOCATION)
get_target_property(threadpool_file executorch::threadpool LOCATION)
get_target_property(executorch_folders executorch::runtime INTERFACE_INCLUDE_DIRECTORIES)
foreach(name core threadpool)
  # A linker's script is an archive to it.
  set(file "${runtime_file}")
  if(name STREQUAL "threadpool")
    set(file "${threadpool_file}")
  endif()
  file(CONFIGURE OUTPUT "${installed}/lib/lib${name}.a" CONTENT "INPUT(${file})\n" @ONLY)
endforeach()
file(CONFIGURE OUTPUT "${installed}/lib/cmake/ExecuTorch/executorch-config.cmake" CONTENT [[
set(EXECUTORCH_FOUND ON)
set(executorch_FOUND TRUE)
foreach(target executorch_core XNNPACK cpuinfo extension_threadpool)
  add_library(${target} STATIC IMPORTED)
  target_include_directories(${target} INTERFACE "@executorch_folders@")
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "@installed@/lib/libcore.a")
endforeach()
set_target_properties(extension_threadpool PROPERTIES IMPORTED_LOCATION "@installed@/lib/libthreadpool.a")
target_compile_definitions(executorch_core INTERFACE C10_USING_CUSTOM_GENERATED_MACROS)
target_compile_definitions(extension_threadpool INTERFACE ET_USE_THREADPOOL)
]] @ONLY)

set(common -G "${CMAKE_GENERATOR}" --fresh -S "${PROJECT_SOURCE_DIR}" "-DPython_EXECUTABLE=${Python_EXECUTABLE}"
  "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
  "-DET_XNNPACK_FLATC=${ET_XNNPACK_FLATC_EXECUTABLE}" "-DET_XNNPACK_PREBUILT_XNNPACK=$<TARGET_FILE_DIR:XNNPACK>")
set(cross "-DCMAKE_SYSTEM_NAME=Linux" "-DCMAKE_SYSTEM_PROCESSOR=${CMAKE_SYSTEM_PROCESSOR}"
  "-DCMAKE_FIND_ROOT_PATH=${CMAKE_CURRENT_BINARY_DIR}/no-system" -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY)

function(et_xnnpack_add_configured name expected)
  add_test(NAME package.installed.${name}
    COMMAND "${CMAKE_COMMAND}" ${common} -B "${CMAKE_CURRENT_BINARY_DIR}/installed/${name}" ${ARGN})
  set_tests_properties(package.installed.${name} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
endfunction()

et_xnnpack_add_configured(archives "installed from its sources.*Build files have been written"
  "-DCMAKE_PREFIX_PATH=${installed}" -DET_XNNPACK_BUILD_PYTHON=OFF)
et_xnnpack_add_configured(cross "installed from its sources.*Build files have been written"
  ${cross} "-DCMAKE_PREFIX_PATH=${installed}")
et_xnnpack_add_configured(cross_wheel "ExecuTorch ${ET_XNNPACK_EXECUTORCH_VERSION}.*Build files have been written"
  ${cross} "-DCMAKE_PREFIX_PATH=${executorch_DIR}/../../..")
et_xnnpack_add_configured(cross_without "found no ExecuTorch.*Name the folder of one that was built[ \n]+for[ \n]+Linux"
  ${cross})
et_xnnpack_add_configured(with_python "The Python module needs the ExecuTorch of the Python package"
  "-DCMAKE_PREFIX_PATH=${installed}")
