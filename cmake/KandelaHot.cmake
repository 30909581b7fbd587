# Run at build time: one set of functions out of two. The hot files were compiled for any x86-64 and for one
# with AVX2; here their functions get the endings _base and _v3, and a C file with the plain names is written,
# each a jump to the one that core/hot.h chooses. -DNM= -DOBJCOPY= -DOUTPUT=folder -DBASE=objects -DV3=objects
function(symbols_of objects functions tables)
  execute_process(COMMAND ${NM} -g --defined-only ${objects} OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9a-f]+ [A-Z] [A-Za-z0-9_.]+" lines "${said}")
  set(found_functions)
  set(found_tables)
  foreach(line ${lines})
    string(REGEX REPLACE "^[0-9a-f]+ ([A-Z]) (.*)$" "\\1;\\2" parts "${line}")
    list(GET parts 0 kind)
    list(GET parts 1 name)
    if(name MATCHES "^(kd_|_|asan|\\.)")
      if(name MATCHES "^kd_")
        message(FATAL_ERROR "${name}: a file of the public interface cannot be in KD_HOT (CMakeLists.txt)")
      endif()
    elseif(kind STREQUAL "T")
      list(APPEND found_functions ${name})
    elseif(kind STREQUAL "R")
      list(APPEND found_tables ${name})
    else()
      message(FATAL_ERROR "${name}: a file in KD_HOT (CMakeLists.txt) may have no variables, nor tables of addresses, that others see")
    endif()
  endforeach()
  set(${functions} ${found_functions} PARENT_SCOPE)
  set(${tables} ${found_tables} PARENT_SCOPE)
endfunction()

function(rename variant objects) # further arguments: symbols
  set(words)
  foreach(name ${ARGN})
    string(APPEND words "${name} ${name}_${variant}\n")
  endforeach()
  file(WRITE ${OUTPUT}/${variant}.txt "${words}")
  foreach(object ${objects})
    get_filename_component(stem ${object} NAME_WE)
    execute_process(COMMAND ${OBJCOPY} --redefine-syms=${OUTPUT}/${variant}.txt
                            ${object} ${OUTPUT}/${stem}.${variant}.o COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

symbols_of("${BASE}" functions tables)
symbols_of("${V3}" v3_functions v3_tables)
if(NOT functions STREQUAL v3_functions)
  message(FATAL_ERROR "the hot files have other functions for AVX2 than without: ${functions} / ${v3_functions}")
endif()
rename(base "${BASE}" ${functions})
rename(v3 "${V3}" ${functions} ${v3_tables})
list(LENGTH functions count)
set(declared)
set(base)
set(v3)
set(jumps)
set(at 0)
foreach(name ${functions})
  string(APPEND declared "extern void ${name}_base(void), ${name}_v3(void);\n")
  string(APPEND base "    ${name}_base,\n")
  string(APPEND v3 "    ${name}_v3,\n")
  string(APPEND jumps "JUMP(${name}, ${at})\n")
  math(EXPR at "${at} + 8")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT}/hot_jumps.c @ONLY CONTENT [[
/* Made by cmake/KandelaHot.cmake. */
#include "core/hot.h"
typedef void function(void);
@declared@
__attribute__((visibility("hidden"))) extern function *hot_chosen[@count@];
function *hot_chosen[@count@] = {
@base@};
static function *const v3[@count@] = {
@v3@};
__attribute__((constructor)) static void choose(void) {
    if (hot_variant() == HOT_V3) __builtin_memcpy(hot_chosen, v3, sizeof v3);
}
#define JUMP(name, at)                                                                       \
    __asm__(".pushsection .text\n.globl " #name "\n.hidden " #name "\n.type " #name            \
            ", @function\n" #name ":\n.cfi_startproc\nendbr64\njmp *hot_chosen+" #at           \
            "(%rip)\n.cfi_endproc\n.size " #name ", .-" #name "\n.popsection\n");
@jumps@]])
