# KD_CUDA=EMULATED: compiles the kernels as C++ for a CUDA device that tests/emulated simulates with
# CPU threads, so that they can be tested on machines without a GPU. Nothing is installed from such
# a build.
enable_language(CXX)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
set(emulated ${CMAKE_SOURCE_DIR}/tests/emulated)
set(KD_CUDA_RUNTIME Threads::Threads)
target_compile_definitions(kd_common INTERFACE KD_HAVE_CUDA=1
  $<$<COMPILE_LANGUAGE:CXX>:__CUDACC__=1> $<$<COMPILE_LANGUAGE:CXX>:__CUDA_ARCH__=900>
  $<$<COMPILE_LANGUAGE:CXX>:KD_CUDA_EMULATED=1>
  "$<$<COMPILE_LANGUAGE:CXX>:KD_CUDA_CODE=\"75+\">")
target_include_directories(kd_common BEFORE INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_BINARY_DIR}/emulated>
  $<$<COMPILE_LANGUAGE:CXX>:${emulated}>)
set(same_bits -ffp-contract=off -fno-math-errno -fno-trapping-math)
set(same_places -fno-crossjumping) # keeps two calls of a function apart: lanes at different calls have not converged
if(KD_MARCH)
  list(APPEND same_bits -march=${KD_MARCH})
endif()
if(KD_SANITIZE)
  list(APPEND same_bits -fsanitize=${KD_SANITIZE} -fno-omit-frame-pointer)
endif()
target_compile_options(kd_common INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-std=gnu++17;-include;cuda_runtime.h;${same_bits};${same_places};-w>")

file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/*/*.cuh ${CMAKE_SOURCE_DIR}/*/*/*.cuh)
function(kd_emulate source target) # paths of a kernel file and of the C++ file generated from it
  add_custom_command(OUTPUT ${target}
    COMMAND ${Python3_EXECUTABLE} ${emulated}/kernels.py ${source} ${target}
    DEPENDS ${source} ${emulated}/kernels.py VERBATIM)
endfunction()
set(made)
foreach(header ${headers})
  kd_emulate(${CMAKE_SOURCE_DIR}/${header} ${CMAKE_BINARY_DIR}/emulated/${header})
  list(APPEND made ${CMAKE_BINARY_DIR}/emulated/${header})
  get_filename_component(directory ${header} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/emulated/${directory})
endforeach()
add_custom_target(kd_emulated_headers DEPENDS ${made})

# Replaces the .cu files of a list by the C++ files that are generated from them.
function(kd_kernels list)
  set(replaced)
  foreach(kernel ${${list}})
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${kernel})
    string(REGEX REPLACE "\\.cu$" ".cc" name ${name})
    get_filename_component(directory ${name} DIRECTORY)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/emulated/${directory})
    kd_emulate(${kernel} ${CMAKE_BINARY_DIR}/emulated/${name})
    set_property(SOURCE ${CMAKE_BINARY_DIR}/emulated/${name} APPEND PROPERTY OBJECT_DEPENDS
                 kd_emulated_headers)
    list(APPEND replaced ${CMAKE_BINARY_DIR}/emulated/${name})
  endforeach()
  set(${list} ${replaced} PARENT_SCOPE)
endfunction()

add_library(kd_emulated OBJECT ${emulated}/lanes.cc ${emulated}/runtime.cc)
target_link_libraries(kd_emulated PUBLIC kd_common)
# The switch between lanes takes half of the run time if sanitizers instrument it, so it is not
# instrumented.
set(unwatched -O2 -fno-sanitize=all)
if(KD_SANITIZE MATCHES "address")
  list(APPEND unwatched -DKD_POISONED_STACKS)
endif()
set_source_files_properties(${emulated}/lanes.cc PROPERTIES COMPILE_OPTIONS "${unwatched}")
set_property(GLOBAL APPEND PROPERTY KD_MODULES kd_emulated)
