# Toolchain file for cross builds for macOS with Zig's C compiler (pip install ziglang), which links
# without Apple's SDK. The programs cannot be run on Linux:
#   cmake -S . -B build-macos -DCMAKE_TOOLCHAIN_FILE=cmake/macos.cmake -DKD_SOURCES=FOLDER -DKD_CUDA=OFF
# FOLDER: as in windows.cmake. -DKD_MACOS=x86_64 builds for Macs with Intel processors.
# tools/package/zig runs the compiler.
set(KD_MACOS aarch64 CACHE STRING "aarch64 or x86_64")
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${KD_MACOS})
set(zig ${CMAKE_CURRENT_LIST_DIR}/../tools/package/zig)
set(CMAKE_C_COMPILER ${zig} cc)
set(CMAKE_C_COMPILER_TARGET ${KD_MACOS}-macos)
foreach(language C CXX) # the archiver is a subcommand of zig
  set(CMAKE_${language}_ARCHIVE_CREATE "${zig} ar qc <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "${zig} ar q <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "${zig} ranlib <TARGET>")
endforeach()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KD_SOURCES KD_MACOS)
set(CMAKE_FIND_ROOT_PATH ${KD_SOURCES}/macos)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
