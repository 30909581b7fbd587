# Toolchain file of a cross build for arm64 Linux, by Debian's gcc-aarch64-linux-gnu and
# libc6-dev-arm64-cross; what is built runs under qemu-user:
#   KANDELA_ARM64_ROOT=FOLDER cmake -S . -B build-arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake
# FOLDER has the libraries for arm64, Debian's packages unpacked: tests/tools/nightly_arm64.sh makes one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(KD_LD /usr/bin/aarch64-linux-gnu-ld CACHE FILEPATH "links objects into one")
set(KD_OBJCOPY /usr/bin/aarch64-linux-gnu-objcopy CACHE FILEPATH "hides its names")

set(KD_ARM64_ROOT "$ENV{KANDELA_ARM64_ROOT}" CACHE PATH "Folder of libraries for arm64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KD_ARM64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${KD_ARM64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The man page and the completion are written by the program itself.
find_program(KD_QEMU_ARM64 NAMES qemu-aarch64 qemu-aarch64-static)
if(KD_QEMU_ARM64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${KD_QEMU_ARM64} -L /usr/aarch64-linux-gnu
      -E LD_LIBRARY_PATH=${KD_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
endif()
