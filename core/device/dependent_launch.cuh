/* Programmatic dependent launch: the blocks of a kernel are scheduled while the preceding kernel in
   the stream still runs.
   Source: CUDA C++ Programming Guide, "Programmatic dependent launch".
   Idea: the first kernel signals that the next may start (grid_lets_next_begin), so that blocks
         of the next kernel occupy the resources that the last blocks of the first release. The
         next kernel waits until all writes of the first are visible (grid_waits_for_last). Below
         compute capability 9.0 the kernels are serialised as usual. */
#ifndef KD_CORE_DEVICE_DEPENDENT_LAUNCH_CUH
#define KD_CORE_DEVICE_DEPENDENT_LAUNCH_CUH
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

/* Launches a kernel whose first statement is grid_waits_for_last. */
template <class... PARAMETERS>
static kd_status cuda_launch_dependent(void (*kernel)(PARAMETERS...), unsigned blocks, int threads,
                                       cudaStream_t stream, PARAMETERS... arguments) {
#ifdef KD_CUDA_EMULATED
    kernel<<<blocks, threads, 0, stream>>>(arguments...);
    KD_CUDA_LAUNCHED("a kernel that follows");
#else
    cudaFuncAttributes attributes;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute early;
    KD_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    config.gridDim = dim3(blocks);
    config.blockDim = dim3((unsigned)threads);
    config.stream = stream;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = attributes.ptxVersion >= 90 ? 1 : 0; /* older code has no wait */
    KD_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
#endif
    return KD_OK;
}

#endif
