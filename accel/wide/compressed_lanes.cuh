/* Instructions for a traversal step through a compressed wide node: two half floats or four bytes
   at a time. Each has a portable counterpart for the emulated device. Half floats that are not
   negative compare like 16-bit integers, so three-way integer maxima and minima (one instruction
   each from compute capability 9.0 on) combine the three axes. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_LANES_CUH
#define KD_ACCEL_WIDE_COMPRESSED_LANES_CUH
#include "accel/wide/compressed_form.h"
#include <cuda_fp16.h>
#include <stdint.h>

#define COMPRESSED_FN static __device__ __forceinline__

COMPRESSED_FN __half2 compressed_halves(uint32_t bits) {
    return *reinterpret_cast<__half2 *>(&bits);
}
COMPRESSED_FN uint32_t compressed_bits(__half2 halves) {
    return *reinterpret_cast<uint32_t *>(&halves);
}
/* Returns x, rounded to the nearest half float, in both halves. */
COMPRESSED_FN uint32_t compressed_both(float x) {
    return compressed_bits(__float2half2_rn(x));
}
COMPRESSED_FN float compressed_low_half(uint32_t bits) {
    return __low2float(compressed_halves(bits));
}

/* Selects four of the eight bytes of {a, b} by the nibbles of `selector` (PTX prmt). Bit 3 of each
   nibble must be 0. */
COMPRESSED_FN uint32_t compressed_select(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef KD_CUDA_EMULATED
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (int k = 0; k < 4; ++k)
        out |= (uint32_t)(bytes >> (8 * (selector >> (4 * k) & 7)) & 255) << (8 * k);
    return out;
#else
    uint32_t out;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(selector));
    return out;
#endif
}

/* Returns the index of the highest set bit. */
COMPRESSED_FN uint32_t compressed_topmost(uint32_t bits) {
#ifdef KD_CUDA_EMULATED
    return 31 - (uint32_t)__clz((int)bits);
#else
    uint32_t number;
    asm("bfind.u32 %0, %1;" : "=r"(number) : "r"(bits));
    return number;
#endif
}

/* Returns 4 base + place, as one multiply-add. */
COMPRESSED_FN uint32_t compressed_place_in(uint32_t base, uint32_t place) {
#ifdef KD_CUDA_EMULATED
    return 4 * base + place;
#else
    uint32_t unit;
    asm("mad.lo.u32 %0, %1, 4, %2;" : "=r"(unit) : "r"(base), "r"(place));
    return unit;
#endif
}

/* Operations on pairs of halves: the maximum of three and 0, the minimum of three, the minimum of
   two, and a mask that has all bits of a half set where a <= b. */
COMPRESSED_FN uint32_t compressed_largest(uint32_t a, uint32_t b, uint32_t c) {
    return __vimax3_s16x2_relu(a, b, c);
}
COMPRESSED_FN uint32_t compressed_smallest(uint32_t a, uint32_t b, uint32_t c) {
    return __vimin3_s16x2(a, b, c);
}
COMPRESSED_FN uint32_t compressed_smaller(uint32_t a, uint32_t b) {
    return __vmins2(a, b);
}
COMPRESSED_FN uint32_t compressed_not_above(uint32_t a, uint32_t b) {
    return __hle2_mask(compressed_halves(a), compressed_halves(b));
}

COMPRESSED_FN float compressed_max3(float a, float b, float c) {
    return fmaxf(fmaxf(a, b), c);
}
COMPRESSED_FN float compressed_min3(float a, float b, float c) {
    return fminf(fminf(a, b), c);
}

/* Returns 1 / x to a relative error of 2^-23; x must not be near the limits of the exponent
   range. */
COMPRESSED_FN float compressed_inverse(float x) {
#ifdef KD_CUDA_EMULATED
    return 1 / x;
#else
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
#endif
}
/* Return 1 / x and x / y correctly rounded (IEEE), for operands and quotients far from both limits
   of the exponent range. The sequence is that of the compiler's division without its slow path. */
COMPRESSED_FN float compressed_inverse_rounded(float x) {
#ifdef KD_CUDA_EMULATED
    return 1 / x;
#else
    const float y = compressed_inverse(x);
    return fmaf(y, fmaf(-x, y, 1.0f), y);
#endif
}
COMPRESSED_FN float compressed_quotient_rounded(float x, float y, float inverse_of_y) {
#ifdef KD_CUDA_EMULATED
    (void)inverse_of_y;
    return x / y;
#else
    const float q = x * inverse_of_y, r = fmaf(fmaf(-y, q, x), inverse_of_y, q);
    return fmaf(fmaf(-y, r, x), inverse_of_y, r);
#endif
}

/* Return the planes through which a ray of these inverse directions leaves the cell of a leaf, an
   indexed one and one with corners. The ray has passed them if a hit need not be the nearest. */
COMPRESSED_FN vec3 compressed_far_planes(const compressed_grid &grid, const uint4 *leaf, float vx,
                                         float vy, float vz) {
    const uint4 header = __ldg(leaf - 2);
    const uint32_t low = COMPRESSED_PLANE_MAX, high = 1023;
    if (header.w & COMPRESSED_LAST)
        return vec3_make(copysignf(INFINITY, -vx), copysignf(INFINITY, -vy),
                         copysignf(INFINITY, -vz));
    const uint32_t x = header.x >> 21 | (header.w & high) << 11,
                   y = header.y >> 21 | (header.w >> 10 & high) << 11,
                   z = header.z >> 21 | (header.w >> 20 & high) << 11;
    return vec3_make(compressed_plane_at(grid, 0, vx < 0 ? header.x & low : x),
                     compressed_plane_at(grid, 1, vy < 0 ? header.y & low : y),
                     compressed_plane_at(grid, 2, vz < 0 ? header.z & low : z));
}
COMPRESSED_FN vec3 compressed_far_sides(const uint4 *leaf, float vx, float vy, float vz) {
    const float4 a = __ldg((const float4 *)leaf - 2), b = __ldg((const float4 *)leaf - 1);
    return vec3_make(vx < 0 ? a.x : a.w, vy < 0 ? a.y : b.x, vz < 0 ? a.z : b.y);
}

#endif
