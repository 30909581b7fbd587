# Function multiversioning: compiles the files that core/isa_functions.inc lists once per
# instruction set, each time with a generated header that appends a suffix to the names they define;
# core/isa.c chooses a version when the library is loaded. This needs only ordinary compilation and
# linking, so it works with any generator, with gcc and clang, and with ELF, Mach-O and PE.
set(kd_isa_list ${CMAKE_SOURCE_DIR}/core/isa_functions.inc)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kd_isa_list})
# Only processors without AVX2 run the base version. At -O3 GCC takes five times as long for it, to
# take apart vectors of 32 bytes.
set(KD_ISA_FLAGS_base $<$<CONFIG:Release>:-O2>)
set(KD_ISA_FLAGS_avx2 -march=x86-64-v3)
set(KD_ISA_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
if(WIN32 AND CMAKE_C_COMPILER_ID STREQUAL "GNU") # on Windows, GCC does not align the stack for wide registers
  list(APPEND KD_ISA_FLAGS_avx2 -Wa,-muse-unaligned-vector-move)
  list(APPEND KD_ISA_FLAGS_avx512 -Wa,-muse-unaligned-vector-move)
endif()

include(CheckCSourceCompiles)
set(KD_ISA FALSE)
if(NOT KD_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(CMAKE_REQUIRED_FLAGS ${KD_ISA_FLAGS_avx512})
  list(JOIN CMAKE_REQUIRED_FLAGS " " CMAKE_REQUIRED_FLAGS)
  check_c_source_compiles("__attribute__((naked)) void f(void) { __asm__(\"jmp *%rax\"); } int main(void) { return 0; }"
                          KD_ISA_WORKS)
  unset(CMAKE_REQUIRED_FLAGS)
  set(KD_ISA ${KD_ISA_WORKS})
endif()

# Sets `out` to all names that occur in the list as MACRO(NAME).
function(kd_isa_names out macro)
  file(READ ${kd_isa_list} text)
  string(REGEX REPLACE "^/[*][^@]*[*]/" "" text "${text}")
  string(REGEX MATCHALL "${macro}\\([^)]*\\)" found "${text}")
  list(TRANSFORM found REPLACE "^[A-Z0-9_]+\\((.*)\\)$" "\\1")
  set(${out} ${found} PARENT_SCOPE)
endfunction()
kd_isa_names(kd_isa_files "ISA_FILE_AVX[0-9]+")
kd_isa_names(kd_isa_files_avx512 ISA_FILE_AVX512)
foreach(list kd_isa_files kd_isa_files_avx512)
  list(TRANSFORM ${list} PREPEND ${CMAKE_SOURCE_DIR}/)
  list(TRANSFORM ${list} APPEND .c)
endforeach()

# Writes the header of one instruction set. Files without an AVX-512 version call functions that
# have one by the plain name, and so by the version that was chosen at load time. KD_ISA_OWN is
# defined in files that have an AVX-512 version.
function(kd_isa_header isa)
  kd_isa_names(names "ISA_(AVX2|DATA)")
  kd_isa_names(tables ISA_TABLE)
  kd_isa_names(own ISA_AVX512)
  list(TRANSFORM tables APPEND _rows)
  set(suffix ${isa})
  if(isa STREQUAL "avx512") # functions without an AVX-512 version use the AVX2 version
    set(suffix avx2)
  endif()
  set(text)
  foreach(name ${names} ${tables})
    string(APPEND text "#define ${name} ${name}_${suffix}\n")
  endforeach()
  string(APPEND text "#ifdef KD_ISA_OWN\n")
  foreach(name ${own})
    string(APPEND text "#define ${name} ${name}_${isa}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/isa/${isa}.h CONTENT "${text}#endif\n")
endfunction()

# Removes the listed files from a list of sources.
function(kd_isa_take of_sources)
  if(KD_ISA)
    set(kept ${${of_sources}})
    list(REMOVE_ITEM kept ${kd_isa_files})
    set(${of_sources} ${kept} PARENT_SCOPE)
  endif()
endfunction()

if(KD_ISA)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/core/isa.c PROPERTIES COMPILE_DEFINITIONS KD_ISA=1)
  set_source_files_properties(${kd_isa_files_avx512} PROPERTIES COMPILE_DEFINITIONS KD_ISA_OWN=1)
  foreach(isa base avx2 avx512)
    kd_isa_header(${isa})
    set(files ${kd_isa_files})
    if(isa STREQUAL "avx512")
      set(files ${kd_isa_files_avx512})
    endif()
    add_library(kd_isa_${isa} OBJECT ${files})
    target_link_libraries(kd_isa_${isa} PRIVATE kd_common)
    set_target_properties(kd_isa_${isa} PROPERTIES KD_INNERMOST ON) # exempt from hardening (KandelaCompiler)
    target_compile_options(kd_isa_${isa} PRIVATE ${KD_FRAME_WARNINGS} ${KD_ISA_FLAGS_${isa}} -include ${CMAKE_BINARY_DIR}/generated/isa/${isa}.h)
    set_property(GLOBAL APPEND PROPERTY KD_MODULES kd_isa_${isa})
  endforeach()
endif()
message(STATUS "Kandela: several instruction sets, selected at run time: ${KD_ISA}")
