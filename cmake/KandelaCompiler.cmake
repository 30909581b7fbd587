# Target kd_common: compiler options of all files of the project.
# A parameter may have the name of its type (`frame *frame`), so GCC warns only about locals that
# shadow locals.
set(KD_SHADOW $<IF:$<C_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
set(KD_WARNINGS -Wall -Wextra -Wpedantic ${KD_SHADOW} -Wconversion -Wcast-qual -Wstrict-prototypes
                -Wmissing-prototypes -Wvla -Wundef -Wc++-compat -Wformat=2 -Wdouble-promotion)
add_library(kd_common INTERFACE)
target_include_directories(kd_common INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(kd_common INTERFACE _GNU_SOURCE KD_BUILDING=1)
set_source_files_properties(${CMAKE_SOURCE_DIR}/core/version.c PROPERTIES COMPILE_DEFINITIONS KD_VERSION="${PROJECT_VERSION}")
if(WIN32) # printf formats as in C17, not as in the C library of Windows
  target_compile_definitions(kd_common INTERFACE __USE_MINGW_ANSI_STDIO=1 _WIN32_WINNT=0x0A00 WIN32_LEAN_AND_MEAN NOMINMAX)
  list(APPEND KD_WARNINGS -Wno-format -Wno-format-extra-args -Wno-float-conversion) # GCC checks formats of the C library of Windows
elseif(APPLE)
  target_compile_definitions(kd_common INTERFACE _DARWIN_C_SOURCE)
endif()
target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:${KD_WARNINGS}>)
if(KD_WERROR)
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()
# The library promises to need at most 128 KB of stack (include/kandela/status.h), so no function
# may take more than 20 KB: larger objects are on the heap (core/memory.h). Only frames of optimised
# builds are representative.
set(KD_FRAME_WARNINGS)
if(KD_WERROR AND NOT KD_SANITIZE AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo)$"
   AND NOT CMAKE_C_FLAGS_RELEASE MATCHES "-O0")
  set(KD_FRAME_WARNINGS $<$<COMPILE_LANGUAGE:C>:-Wframe-larger-than=20480>)
endif()

# All compilers must produce the same results: no fused multiply-add unless the source says fmaf,
# and no fast-math.
target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>
                                           $<$<COMPILE_LANGUAGE:C>:-fno-math-errno>)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-fno-trapping-math>)
endif()

# Reproducible builds: no file contains the path of the build, neither in __FILE__ nor in debug
# information.
string(TOUPPER "${KD_REPRODUCIBLE}" KD_REPRODUCIBLE)
if(NOT KD_REPRODUCIBLE MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "KD_REPRODUCIBLE=${KD_REPRODUCIBLE}, expected AUTO, ON or OFF")
endif()
set(KD_PREFIX_MAPS -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build) # the last that matches counts
if(NOT KD_REPRODUCIBLE STREQUAL "OFF")
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${KD_PREFIX_MAPS}>")
endif()
if(KD_REPRODUCIBLE STREQUAL "ON")
  add_link_options($<$<LINK_LANGUAGE:C,CXX>:LINKER:-s>) # the symbols include names of nvcc's temporary files
endif()

if(KD_MARCH STREQUAL "auto") # a value of older build directories
  set(KD_MARCH "" CACHE STRING "" FORCE)
endif()
if(KD_MARCH)
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-march=${KD_MARCH}>)
endif()

if(KD_SANITIZE)
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=${KD_SANITIZE}>
                         $<$<COMPILE_LANGUAGE:C>:-fno-omit-frame-pointer>
                         $<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>)
  target_link_options(kd_common INTERFACE -fsanitize=${KD_SANITIZE})
  if(KD_SANITIZE MATCHES "undefined")
    target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-fno-sanitize-recover=undefined>)
    # For an empty IDAT chunk, stb_image copies zero bytes to NULL, which every implementation of
    # memcpy accepts.
    set_source_files_properties(core/image/stb.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=nonnull-attribute)
  endif()
endif()

# Hardening: stack protectors in functions with arrays, library calls checked against object sizes
# (_FORTIFY_SOURCE), position-independent executables, and read-only relocations (RELRO). Builds
# with sanitizers omit it, because sanitizers check more. tests/tools/test_hardening.sh verifies the
# binaries. In CUDA files only the host code has stack protectors. C++ files that do not use
# kd_common link kd_hardened alone. Targets with the property KD_INNERMOST (the files of
# core/isa_functions.inc) are exempt: their innermost functions have arrays, and they parse neither
# files nor text.
add_library(kd_hardened INTERFACE)
target_link_libraries(kd_common INTERFACE kd_hardened)
if(KD_HARDENING AND NOT KD_SANITIZE AND NOT WIN32)
  include(CheckCCompilerFlag)
  include(CheckCSourceCompiles)
  include(CheckPIESupported)
  set(guarded $<NOT:$<BOOL:$<TARGET_PROPERTY:KD_INNERMOST>>>)
  check_pie_supported(LANGUAGES C)
  check_c_compiler_flag(-fstack-protector-strong KD_STACK_PROTECTOR_WORKS)
  if(KD_STACK_PROTECTOR_WORKS)
    target_compile_options(kd_hardened INTERFACE
      $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,${guarded}>:-fstack-protector-strong>
      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fstack-protector-strong>)
  endif()
  check_c_source_compiles("
    #include <stdlib.h> /* defines __GLIBC__, which <stddef.h> does not */
    #if !defined(__GLIBC__) || __GLIBC__ * 100 + __GLIBC_MINOR__ < 234
    #error level 3 needs glibc 2.34
    #endif
    int main(int count, char **words) { (void)count; return (int)__builtin_dynamic_object_size(words, 0); }"
    KD_FORTIFY_LEVEL_3_WORKS)
  set(KD_FORTIFY 2)
  if(KD_FORTIFY_LEVEL_3_WORKS)
    set(KD_FORTIFY 3)
  endif()
  # _FORTIFY_SOURCE has no effect without optimisation
  target_compile_options(kd_hardened INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<NOT:$<CONFIG:Debug>>,${guarded}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${KD_FORTIFY}>")
  if(NOT APPLE)
    add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
  endif()
endif()
