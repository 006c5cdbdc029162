# A project with ExecuTorch's targets around us, in one folder one after the other, so that our code is compiled once. Its
# speed is nobody's business. Some operators only, except in the last, which takes minutes.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/in_tree")
set(common "-DCHECKOUT=${PROJECT_SOURCE_DIR}" "-Dexecutorch_DIR=${executorch_DIR}" "-DPython_EXECUTABLE=${Python_EXECUTABLE}"
  "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}" "-DCMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}"
  -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -DHWY_COMPILE_ONLY_STATIC"
  "-DET_XNNPACK_FLATC=${ET_XNNPACK_FLATC_EXECUTABLE}"
  "-DXNNPACK_LIBRARIES=$<TARGET_FILE_DIR:XNNPACK>" "-DXNNPACK_INCLUDE=$<TARGET_PROPERTY:XNNPACK,INTERFACE_INCLUDE_DIRECTORIES>")
# The tree's own XNNPACK, where its header is at hand.
set(xnnpack xnnpack_archives)
if(newer_xnnpack AND TARGET executorch::backend_xnnpack)
  set(xnnpack xnnpack)
  list(APPEND common "-DXNNPACK=${newer_xnnpack}")
endif()
set(before)
function(et_xnnpack_add_in_tree_test name tree ops)
  set(options -DTREE=${tree} "-DET_XNNPACK_OPS=${ops}")
  if(NOT tree MATCHES "^xnnpack")
    list(APPEND options "-DET_XNNPACK_PREBUILT_XNNPACK=$<TARGET_FILE_DIR:XNNPACK>")
  endif()
  add_test(NAME package.in_tree.${name}
    COMMAND "${CMAKE_CTEST_COMMAND}"
      --build-and-test "${CMAKE_CURRENT_SOURCE_DIR}/in_tree" "${folder}"
      --build-generator "${CMAKE_GENERATOR}" --build-noclean
      --build-options ${common} ${options}
      --test-command "${CMAKE_CTEST_COMMAND}" --output-on-failure --no-tests=error)
  set_tests_properties(package.in_tree.${name} PROPERTIES RESOURCE_LOCK in_tree DEPENDS "${before}")
  set(before package.in_tree.${name} PARENT_SCOPE)
endfunction()
foreach(tree plain shared ${xnnpack})
  et_xnnpack_add_in_tree_test(${tree} ${tree} "Softmax\\;gemm\\;move")
endforeach()
et_xnnpack_add_in_tree_test(every_operator plain "")
set_tests_properties(package.in_tree.every_operator PROPERTIES LABELS large)
