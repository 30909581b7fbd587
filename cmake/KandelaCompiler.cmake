# What every file of the house is compiled with: target kd_common.
set(KD_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-qual -Wstrict-prototypes
                -Wmissing-prototypes -Wvla -Wundef -Wc++-compat -Wformat=2 -Wdouble-promotion)
add_library(kd_common INTERFACE)
target_include_directories(kd_common INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(kd_common INTERFACE _GNU_SOURCE KD_BUILDING=1
                           KD_VERSION="${PROJECT_VERSION}")
target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:${KD_WARNINGS}>)
if(KD_WERROR)
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()

# The same bits from every compiler: no contraction that is not written as fmaf, no fast-math.
target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>
                                           $<$<COMPILE_LANGUAGE:C>:-fno-math-errno>)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-fno-trapping-math>)
endif()

if(KD_MARCH STREQUAL "auto")
  include(CheckCSourceRuns)
  check_c_source_runs("int main(void) { __builtin_cpu_init(); return __builtin_cpu_supports(\"avx2\") \
    && __builtin_cpu_supports(\"fma\") && __builtin_cpu_supports(\"bmi2\") ? 0 : 1; }" KD_CPU_IS_V3)
  if(KD_CPU_IS_V3)
    target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-march=x86-64-v3>)
  endif()
elseif(KD_MARCH)
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-march=${KD_MARCH}>)
endif()

if(KD_SANITIZE)
  target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=${KD_SANITIZE}>
                         $<$<COMPILE_LANGUAGE:C>:-fno-omit-frame-pointer>)
  target_link_options(kd_common INTERFACE -fsanitize=${KD_SANITIZE})
  if(KD_SANITIZE MATCHES "undefined")
    target_compile_options(kd_common INTERFACE $<$<COMPILE_LANGUAGE:C>:-fno-sanitize-recover=undefined>)
  endif()
endif()
