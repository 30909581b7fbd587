/* Warp reductions by shuffles for devices below compute capability 8.0. CUDA declares
   `__reduce_*_sync` only from 8.0 on; this header defines them under the same names, so that
   kernels need no special case. All 32 lanes must participate. Every .cu file includes this header
   implicitly (cmake/KandelaCuda.cmake). */
#ifndef KD_CORE_DEVICE_WARP_REDUCE_CUH
#define KD_CORE_DEVICE_WARP_REDUCE_CUH

namespace shuffled {

template <class T, class JOIN>
__device__ __forceinline__ T reduce(unsigned mask, T value, const JOIN &join) {
#pragma unroll
    for (int step = 16; step; step /= 2) value = join(value, __shfl_xor_sync(mask, value, step));
    return value;
}
template <class T> __device__ __forceinline__ T minimum(unsigned mask, T value) {
    return reduce(mask, value, [](T a, T b) { return a < b ? a : b; });
}
template <class T> __device__ __forceinline__ T maximum(unsigned mask, T value) {
    return reduce(mask, value, [](T a, T b) { return a > b ? a : b; });
}
template <class T> __device__ __forceinline__ T sum(unsigned mask, T value) {
    return (T)reduce(mask, (unsigned)value, [](unsigned a, unsigned b) { return a + b; });
}

} // namespace shuffled

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
__device__ __forceinline__ unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    return shuffled::minimum(mask, value);
}
__device__ __forceinline__ unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    return shuffled::maximum(mask, value);
}
__device__ __forceinline__ unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    return shuffled::sum(mask, value);
}
__device__ __forceinline__ int __reduce_min_sync(unsigned mask, int value) {
    return shuffled::minimum(mask, value);
}
__device__ __forceinline__ int __reduce_max_sync(unsigned mask, int value) {
    return shuffled::maximum(mask, value);
}
__device__ __forceinline__ int __reduce_add_sync(unsigned mask, int value) {
    return shuffled::sum(mask, value);
}
#endif
#endif
