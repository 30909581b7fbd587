# Compiles the CUDA kernels. cudart is linked statically, so that programs start on machines without
# a driver.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CXX)
include(KandelaArchitectures)
set(kd_cuda_flags)
if(NOT KD_CUDA_ARCHITECTURES AND (CMAKE_CUDA_ARCHITECTURES OR NOT "$ENV{CUDAARCHS}" STREQUAL ""))
  enable_language(CUDA) # uses the CMake variable, or CUDAARCHS in the environment
  kd_architectures_of_cmake(kd_cuda_code)
else()
  set(CMAKE_CUDA_ARCHITECTURES OFF) # kd_cuda_flags name the architectures
  enable_language(CUDA)
  kd_architectures(kd_cuda_flags kd_cuda_code)
endif()
if(kd_cuda_flags)
  list(APPEND kd_cuda_flags --threads=4) # compiles a file for several architectures in parallel
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
# Builders must build the same tree as on the CPU, so there is no fused multiply-add unless the
# source says fmaf. warp_reduce.cuh replaces intrinsics that CUDA does not declare below compute
# capability 8.0.
target_compile_options(kd_common INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:${kd_cuda_flags} -include core/device/warp_reduce.cuh -fmad=false --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-fno-gnu-unique>)
target_include_directories(kd_common SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
set(KD_CUDA_RUNTIME CUDA::cudart_static)
function(kd_kernels list) # nvcc compiles .cu files directly
endfunction()
# Functions of shared headers that these kernels call instead of inlining. The lists are chosen by
# measurements with `bench frame`, because the size of the instruction cache matters
# (core/math/platform.h). Files that are not listed here inline all of them.
set_source_files_properties(render/integrators/whitted.cu render/integrators/instances.cu render/integrators/vcm.cu
  render/integrators/debug.cu render/photon_mapping/inline_lookup.cu
  PROPERTIES COMPILE_DEFINITIONS KD_CALL_ALL=1)
set_source_files_properties(render/frame/path_waves.cu render/photon_mapping/eye_waves.cu
  render/photon_mapping/gather_waves.cu photon/emission/emit.cu render/integrators/vcm_light_waves.cu
  render/integrators/vcm_eye_waves.cu
  PROPERTIES COMPILE_DEFINITIONS KD_CALL_RARE=1)
