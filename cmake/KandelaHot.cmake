cmake_policy(VERSION 3.22)
# Run at build time: one set of functions out of three. The hot files were compiled for any x86-64 and for one
# with AVX2, some for AVX-512, too; here their names get the endings _base, _v3 and _v4, and a C file with the plain
# names is written: a function is a jump to the one that core/hot.h chooses, a constant table that the first two have
# a copy of the chosen one, made when the library is loaded.
# -DNM= -DOBJCOPY= -DOUTPUT=folder -DBASE=objects -DV3=objects -DV4=objects
function(symbols_of objects functions tables)
  execute_process(COMMAND ${NM} -f sysv -g --defined-only ${objects} OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[A-Za-z0-9_.]+ *\\|[0-9a-f ]+\\| *[A-Z] *\\| *[A-Z]+\\|[0-9a-f ]+\\|[^|]*\\|[^\n]+" lines "${said}")
  set(found_functions)
  set(found_tables)
  foreach(line ${lines})
    string(REGEX REPLACE "^([^ |]+) *\\|[^|]*\\| *[A-Z] *\\| *([A-Z]+)\\| *([0-9a-f]+) *\\|[^|]*\\|(.*)$" "\\1;\\2;\\3;\\4" parts "${line}")
    list(GET parts 0 name)
    list(GET parts 1 kind)
    list(GET parts 2 size)
    list(GET parts 3 section)
    if(name MATCHES "^(kd_|_|asan|\\.)")
      if(name MATCHES "^kd_")
        message(FATAL_ERROR "${name}: a file of the public interface cannot be in KD_HOT (cmake/KandelaTwice.cmake)")
      endif()
    elseif(kind STREQUAL "FUNC")
      list(APPEND found_functions ${name})
    elseif(section MATCHES "^\\.(rodata|data\\.rel\\.ro)")
      list(APPEND found_tables "${name}:0x${size}")
    else()
      message(FATAL_ERROR "${name}: a file in KD_HOT (cmake/KandelaTwice.cmake) may have no variables that others see")
    endif()
  endforeach()
  set(${functions} ${found_functions} PARENT_SCOPE)
  set(${tables} ${found_tables} PARENT_SCOPE)
endfunction()

function(write_names variant file) # further arguments: symbols
  set(words)
  foreach(name ${ARGN})
    string(APPEND words "${name} ${name}_${variant}\n")
  endforeach()
  file(WRITE ${file} "${words}")
endfunction()

function(stem_of object stem)
  string(REGEX REPLACE "^.*\\.dir/(\\./)?" "" name ${object})
  string(REGEX REPLACE "\\.c\\.o$" "" name ${name})
  string(REPLACE "/" "-" name ${name})
  set(${stem} ${name} PARENT_SCOPE)
endfunction()

# Files that have no third form call functions that have one by the plain name, which is the chosen one.
function(rename variant objects) # further arguments: symbols
  set(elsewhere ${ARGN})
  list(REMOVE_ITEM elsewhere ${v4_functions})
  write_names(${variant} ${OUTPUT}/${variant}.own.txt ${ARGN})
  write_names(${variant} ${OUTPUT}/${variant}.txt ${elsewhere})
  foreach(object ${objects})
    stem_of(${object} name)
    set(names ${variant})
    if(name IN_LIST v4_stems)
      set(names ${variant}.own)
    endif()
    execute_process(COMMAND ${OBJCOPY} --redefine-syms=${OUTPUT}/${names}.txt
                            ${object} ${OUTPUT}/${name}.${variant}.o COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

symbols_of("${BASE}" functions tables)
symbols_of("${V3}" v3_functions v3_tables)
if(NOT functions STREQUAL v3_functions)
  message(FATAL_ERROR "the hot files have other functions for AVX2 than without: ${functions} / ${v3_functions}")
endif()
symbols_of("${V4}" v4_functions v4_tables)
set(v4_stems)
foreach(object ${V4})
  stem_of(${object} stem)
  list(APPEND v4_stems ${stem})
endforeach()
if(v4_tables)
  message(FATAL_ERROR "a file in KD_HOT_WIDEST (cmake/KandelaTwice.cmake) may have no tables that others see: ${v4_tables}")
endif()
function(names_of tables names)
  list(TRANSFORM tables REPLACE ":.*" "")
  set(${names} ${tables} PARENT_SCOPE)
endfunction()
names_of("${tables}" base_names)
names_of("${v3_tables}" v3_names)
rename(base "${BASE}" ${functions} ${base_names})
rename(v3 "${V3}" ${functions} ${v3_names})
rename(v4 "${V4}" ${v4_functions})
set(both) # tables that one variant has alone are its own affair
foreach(table ${tables})
  if(table IN_LIST v3_tables)
    list(APPEND both ${table})
  endif()
endforeach()
list(LENGTH functions count)
set(declared)
set(base)
set(v3)
set(widest)
set(jumps)
set(copies)
set(at 0)
foreach(name ${functions})
  string(APPEND declared "extern void ${name}_base(void), ${name}_v3(void);\n")
  if(name IN_LIST v4_functions)
    string(APPEND declared "extern void ${name}_v4(void);\n")
    string(APPEND widest "        hot_chosen[${at} / 8] = ${name}_v4;\n")
  endif()
  string(APPEND base "    ${name}_base,\n")
  string(APPEND v3 "    ${name}_v3,\n")
  string(APPEND jumps "JUMP(${name}, ${at})\n")
  math(EXPR at "${at} + 8")
endforeach()
foreach(table ${both})
  string(REPLACE ":" ";" parts ${table})
  list(GET parts 0 name)
  list(GET parts 1 size)
  string(APPEND declared "TABLE(${name}, ${size})\n")
  string(APPEND copies "    __builtin_memcpy(${name}, is_v3 ? ${name}_v3 : ${name}_base, ${size});\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT}/hot_jumps.c @ONLY CONTENT [[
/* Made by cmake/KandelaHot.cmake. */
#include "core/hot.h"
typedef void function(void);
#define HIDDEN __attribute__((visibility("hidden")))
#define TABLE(name, size)                                                                    \
    HIDDEN extern const char name##_base[size], name##_v3[size];                             \
    HIDDEN extern char name[size];                                                           \
    __attribute__((aligned(64))) char name[size];
@declared@
HIDDEN extern function *hot_chosen[@count@];
function *hot_chosen[@count@] = {
@base@};
static function *const v3[@count@] = {
@v3@};
__attribute__((constructor(101))) static void choose(void) {
    const hot_kind kind = hot_variant();
    const int is_v3 = kind >= HOT_V3;
    if (is_v3) __builtin_memcpy(hot_chosen, v3, sizeof v3);
    if (kind >= HOT_V4) {
@widest@    }
@copies@}
#define JUMP(name, at)                                                                       \
    __asm__(".pushsection .text\n.globl " #name "\n.hidden " #name "\n.type " #name            \
            ", @function\n" #name ":\n.cfi_startproc\nendbr64\njmp *hot_chosen+" #at           \
            "(%rip)\n.cfi_endproc\n.size " #name ", .-" #name "\n.popsection\n");
@jumps@]])
