/* The CUDA device functions that kernels call, for one lane of an emulated device. */
#ifndef KD_TESTS_EMULATED_INTRINSICS_H
#define KD_TESTS_EMULATED_INTRINSICS_H
#include "lanes.h"
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <type_traits>

namespace emulated {
/* excludes a parameter from template argument deduction */
template <class T> struct same { typedef T type; };
template <class T> uint64_t bits_of(T value) {
    static_assert(sizeof value <= 8, "lanes exchange 8 bytes at most");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> T from_bits(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> T shuffle(unsigned mask, T value, int from, bool valid) {
    const uint64_t got = sync(SYNC_SHUFFLE, mask, bits_of(value), valid ? (unsigned)from : lane());
    return from_bits<T>(got);
}
/* Applies `change` to *at, atomically with respect to all concurrent blocks. */
template <class T, class CHANGE> T change(T *at, const CHANGE &change) {
    T before, after;
    __atomic_load(at, &before, __ATOMIC_SEQ_CST);
    do after = change(before);
    while (
        !__atomic_compare_exchange(at, &before, &after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return before;
}
} // namespace emulated

/* --- warp-wide synchronisation ---------------------------------------------------------------- */
__forceinline__ unsigned __activemask() {
    return emulated::active_mask();
}
inline unsigned __ballot_sync(unsigned mask, int said) {
    return (unsigned)emulated::sync(emulated::SYNC_BALLOT, mask, said != 0, 0);
}
inline int __any_sync(unsigned mask, int said) {
    return __ballot_sync(mask, said) != 0;
}
inline int __all_sync(unsigned mask, int said) {
    return __ballot_sync(mask, !said) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    emulated::sync(emulated::SYNC_WARP, mask, 0, 0);
}
template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const int base = (int)emulated::lane() & ~(width - 1);
    return emulated::shuffle(mask, value, base + (from & (width - 1)), true);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32) {
    const int from = (int)emulated::lane() ^ other;
    return emulated::shuffle(mask, value, from, from / width <= (int)emulated::lane() / width);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned back, int width = 32) {
    const int from = (int)emulated::lane() - (int)back;
    return emulated::shuffle(mask, value, from, from >= ((int)emulated::lane() & ~(width - 1)));
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned on, int width = 32) {
    const int from = (int)emulated::lane() + (int)on;
    return emulated::shuffle(mask, value, from, from <= ((int)emulated::lane() | (width - 1)));
}
#include "core/device/warp_reduce.cuh"
/* Devices below 8.0 compute these by shuffles. */
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
    if (emulated::capability() < 80) return shuffled::minimum(mask, value);
    return (unsigned)emulated::sync(emulated::SYNC_MIN, mask, value, 0);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    if (emulated::capability() < 80) return shuffled::maximum(mask, value);
    return (unsigned)emulated::sync(emulated::SYNC_MAX, mask, value, 0);
}
inline int __reduce_min_sync(unsigned mask, int value) {
    if (emulated::capability() < 80) return shuffled::minimum(mask, value);
    return (int)(__reduce_min_sync(mask, (unsigned)value ^ 0x80000000u) ^ 0x80000000u);
}
inline int __reduce_max_sync(unsigned mask, int value) {
    if (emulated::capability() < 80) return shuffled::maximum(mask, value);
    return (int)(__reduce_max_sync(mask, (unsigned)value ^ 0x80000000u) ^ 0x80000000u);
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
    if (emulated::capability() < 80) return shuffled::sum(mask, value);
    return (unsigned)emulated::sync(emulated::SYNC_SUM, mask, value, 0);
}
inline int __reduce_add_sync(unsigned mask, int value) {
    return (int)__reduce_add_sync(mask, (unsigned)value);
}

/* --- block-wide synchronisation and memory fences --------------------------------------------- */
inline void __syncthreads() {
    emulated::sync_block(0);
}
inline int __syncthreads_or(int said) {
    return emulated::sync_block(said != 0) != 0;
}
inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __nanosleep(unsigned) {
    sched_yield();
}
template <class T> T atomicAdd(T *at, typename emulated::same<T>::type value) {
    return emulated::change(at, [&](T before) { return (T)(before + value); });
}
template <class T> T atomicMin(T *at, typename emulated::same<T>::type value) {
    return emulated::change(at, [&](T before) { return value < before ? value : before; });
}
template <class T> T atomicMax(T *at, typename emulated::same<T>::type value) {
    return emulated::change(at, [&](T before) { return value > before ? value : before; });
}
template <class T> T atomicOr(T *at, typename emulated::same<T>::type value) {
    return emulated::change(at, [&](T before) { return before | value; });
}
template <class T> T __ldg(const T *at) {
    return *at;
}
template <class T> T __ldcg(const T *at) {
    return *at;
}

/* --- arithmetic ------------------------------------------------------------------------------- */
inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}
inline int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}
inline float __fdividef(float a, float b) {
    return a / b;
}
inline unsigned __float_as_uint(float x) {
    return emulated::from_bits<unsigned>(emulated::bits_of(x));
}
inline int __float_as_int(float x) {
    return emulated::from_bits<int>(emulated::bits_of(x));
}
inline float __uint_as_float(unsigned x) {
    return emulated::from_bits<float>(x);
}
inline float __int_as_float(int x) {
    return emulated::from_bits<float>((unsigned)x);
}
template <class A, class B> constexpr typename std::common_type<A, B>::type min(A a, B b) {
    typedef typename std::common_type<A, B>::type common;
    return (common)b < (common)a ? (common)b : (common)a;
}
template <class A, class B> constexpr typename std::common_type<A, B>::type max(A a, B b) {
    typedef typename std::common_type<A, B>::type common;
    return (common)a < (common)b ? (common)b : (common)a;
}
#endif
