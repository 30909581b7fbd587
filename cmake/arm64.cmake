# Toolchain file for cross builds for arm64 Linux with Debian's gcc-aarch64-linux-gnu and
# libc6-dev-arm64-cross. The programs run under qemu-user:
#   KANDELA_ARM64_ROOT=FOLDER cmake -S . -B build-arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake
# FOLDER contains unpacked Debian packages of the libraries for arm64; tools/package/arm64 creates
# it. The Python module needs g++-aarch64-linux-gnu, and in KANDELA_ARM64_PYTHON a similar directory
# with a Python for arm64; tools/package/wheel_arm64 sets up everything.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(KD_LD /usr/bin/aarch64-linux-gnu-ld CACHE FILEPATH "linker that joins the objects")
set(KD_OBJCOPY /usr/bin/aarch64-linux-gnu-objcopy CACHE FILEPATH "objcopy that hides symbols")

set(KD_ARM64_ROOT "$ENV{KANDELA_ARM64_ROOT}" CACHE PATH "directory of libraries for arm64")
set(KD_ARM64_PYTHON "$ENV{KANDELA_ARM64_PYTHON}" CACHE PATH "directory of a Python for arm64; empty: none")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KD_ARM64_ROOT)
foreach(language C CXX)
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES ${KD_ARM64_ROOT}/usr/include/aarch64-linux-gnu)
endforeach()
set(CMAKE_FIND_ROOT_PATH ${KD_ARM64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The program writes its own man pages and completion, so the build has to run it.
find_program(KD_QEMU_ARM64 NAMES qemu-aarch64 qemu-aarch64-static)
if(KD_QEMU_ARM64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${KD_QEMU_ARM64} -L /usr/aarch64-linux-gnu
      -E LD_LIBRARY_PATH=${KD_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
endif()

# For the Python module: the headers of that Python, with the pyconfig.h for arm64, and its
# interpreter, which generates the type stubs.
if(KD_ARM64_PYTHON)
  file(GLOB Python_INCLUDE_DIR ${KD_ARM64_PYTHON}/headers/python3.*)
  file(GLOB python ${KD_ARM64_PYTHON}/root/usr/bin/python3.[0-9][0-9])
  set(KD_TARGET_PYTHON ${KD_QEMU_ARM64} -L ${KD_ARM64_PYTHON}/root
      -E LD_LIBRARY_PATH=${KD_ARM64_PYTHON}/root/usr/lib/aarch64-linux-gnu:${KD_ARM64_ROOT}/usr/lib/aarch64-linux-gnu ${python})
endif()
