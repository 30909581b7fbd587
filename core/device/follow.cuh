/* A kernel whose blocks are made ready while the one before it in the stream ends.
   Source: CUDA C++ Programming Guide, "Programmatic dependent launch".
   Idea: the first kernel says that the next may begin (grid_lets_next_begin), whose blocks take
         the places that its last ones leave; they wait for all that it wrote
         (grid_waits_for_last). Below compute capability 9.0 kernels follow each other as ever. */
#ifndef KD_CORE_DEVICE_FOLLOW_CUH
#define KD_CORE_DEVICE_FOLLOW_CUH
#include "core/device/cuda.h"

__device__ __forceinline__ void grid_lets_next_begin(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && !defined(KD_CUDA_EMULATED)
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void grid_waits_for_last(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && !defined(KD_CUDA_EMULATED)
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Launches a kernel that begins with grid_waits_for_last. */
template <class... PARAMETERS>
static kd_status cuda_launch_following(void (*kernel)(PARAMETERS...), unsigned blocks, int threads,
                                       cudaStream_t stream, PARAMETERS... arguments) {
#ifdef KD_CUDA_EMULATED
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
    KD_CUDA_LAUNCHED("a kernel that follows");
#else
    cudaFuncAttributes of;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute early;
    KD_CUDA(cudaFuncGetAttributes(&of, kernel));
    config.gridDim = dim3(blocks);
    config.blockDim = dim3((unsigned)threads);
    config.stream = stream;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = of.ptxVersion >= 90 ? 1 : 0; /* else its wait is none */
    KD_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
#endif
    return KD_OK;
}

#endif
