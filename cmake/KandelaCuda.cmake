# The CUDA half: kernels in C style, cudart linked statically so that a binary starts without a driver.
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CXX)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
target_compile_definitions(kd_common INTERFACE KD_HAVE_CUDA=1)
# Builders give the same tree as on the CPU: no fused multiply-add that is not written as one.
target_compile_options(kd_common INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-fno-gnu-unique>)
target_include_directories(kd_common SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
set(KD_CUDA_RUNTIME CUDA::cudart_static)
function(kd_kernels list) # nvcc takes them as they are
endfunction()
