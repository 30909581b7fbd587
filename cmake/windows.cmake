# Toolchain file for cross builds for Windows with Debian's mingw-w64. The programs run under wine
# (wine64):
#   cmake -S . -B build-windows -DCMAKE_TOOLCHAIN_FILE=cmake/windows.cmake -DKD_SOURCES=FOLDER -DKD_CUDA=OFF
# FOLDER contains cjson/cJSON.h and .c, stb/*.h, and xxhash.h; tools/package/sources creates it. For
# the tests, it also contains cmocka for Windows in windows/include and windows/lib.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)    # one file, which includes libgcc and the thread library
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KD_SOURCES)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 ${KD_SOURCES}/windows)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(KD_WINE NAMES wine64 wine PATHS /usr/lib/wine)
if(KD_WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${KD_WINE})
endif()
