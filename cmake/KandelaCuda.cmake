# The CUDA half: kernels in C style, cudart linked statically so that a binary starts without a driver.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CXX)
include(KandelaArchitectures)
set(kd_cuda_flags)
if(NOT KD_CUDA_ARCHITECTURES AND (CMAKE_CUDA_ARCHITECTURES OR NOT "$ENV{CUDAARCHS}" STREQUAL ""))
  enable_language(CUDA) # takes the variable, or the environment's
  kd_architectures_of_cmake(kd_cuda_code)
else()
  set(CMAKE_CUDA_ARCHITECTURES OFF) # the flags say it all
  enable_language(CUDA)
  kd_architectures(kd_cuda_flags kd_cuda_code)
endif()
if(kd_cuda_flags)
  list(APPEND kd_cuda_flags --threads=4) # a file takes as long as its slowest architectures
endif()
if(KD_REPRODUCIBLE STREQUAL "ON")
  list(JOIN KD_PREFIX_MAPS "," maps)
  list(APPEND kd_cuda_flags -Xcompiler=${maps})
endif()
if(KD_CUDA_SMALL AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.4)
  list(APPEND kd_cuda_flags --compress-mode=size)
elseif(KD_CUDA_SMALL)
  list(APPEND kd_cuda_flags -Xfatbin=-compress-all)
endif()
message(STATUS "Kandela: CUDA code for ${kd_cuda_code}")
find_package(CUDAToolkit REQUIRED)
target_compile_definitions(kd_common INTERFACE KD_HAVE_CUDA=1
  "$<$<COMPILE_LANGUAGE:CUDA>:KD_CUDA_CODE=\"${kd_cuda_code}\">")
# Builders give the same tree as on the CPU: no fused multiply-add that is not written as one.
# warp_reduce.cuh stands in for what CUDA does not declare below compute capability 8.0.
target_compile_options(kd_common INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:${kd_cuda_flags} -include core/device/warp_reduce.cuh -fmad=false --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-fno-gnu-unique>)
target_include_directories(kd_common SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
set(KD_CUDA_RUNTIME CUDA::cudart_static)
function(kd_kernels list) # nvcc takes them as they are
endfunction()
# Which functions of shared headers kernels call instead of having copies of them: a matter of instruction caches
# (core/math/platform.h), measured by `bench frame`. A file that is not named here copies all.
set_source_files_properties(render/integrators/whitted.cu render/integrators/instances.cu render/integrators/light.cu
  render/integrators/debug.cu render/photon_mapping/inline_lookup.cu
  PROPERTIES COMPILE_DEFINITIONS KD_CALL_ALL=1)
set_source_files_properties(render/frame/path_waves.cu render/photon_mapping/eye_waves.cu
  render/photon_mapping/gather_waves.cu photon/emission/emit.cu
  PROPERTIES COMPILE_DEFINITIONS KD_CALL_RARE=1)
