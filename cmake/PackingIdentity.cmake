# Writes a header with a hash of all that decides how weights are packed:
#   cmake -DROOT=<source> -DOUTPUT=<header> -DBUILD=<text> -P PackingIdentity.cmake
# BUILD is what matters of the build beside the files. Without ROOT it only defines the list of files.

# Too many rather than too few: what these have in common is that one of them says where a number of a weight goes.
set(ET_XNNPACK_PACKING_SOURCES
  runtime/kernels/*/*.h runtime/kernels/*/*.cpp runtime/ops/*.h runtime/ops/*.cpp runtime/ops/*/*.h runtime/ops/*/*.cpp
  runtime/base/round_up.h runtime/weights/checksum.* runtime/weights/constant_reader.* runtime/weights/weights.*
  runtime/xnnpack/*.h runtime/xnnpack/*.cpp
  serialization/*.fbs
  third-party/Xnnpack*.cmake third-party/dependencies.json third-party/xnnpack_*.c third-party/xnnpack_*.h
  third-party/executorch/xnnpack.h)

if(ROOT)
  list(TRANSFORM ET_XNNPACK_PACKING_SOURCES PREPEND "${ROOT}/")
  file(GLOB files RELATIVE "${ROOT}" ${ET_XNNPACK_PACKING_SOURCES})
  list(SORT files)
  set(all "${BUILD}\n")
  foreach(file ${files})
    file(SHA256 "${ROOT}/${file}" hash)
    string(APPEND all "${file} ${hash}\n")
  endforeach()
  string(SHA256 hash "${all}")
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define ET_XNNPACK_PACKING_HASH \"${hash}\"\n" @ONLY)
endif()
