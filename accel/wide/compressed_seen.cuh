/* What a ray sees of a triangle in a leaf of the compressed form (compressed_walk.cuh): the scene
   that all rays of a kernel share, the leaf in the ray's coordinate system, the triangle's corners
   and edge functions. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_SEEN_CUH
#define KD_ACCEL_WIDE_COMPRESSED_SEEN_CUH
#include "accel/wide/compressed_form.h"
#include "accel/wide/compressed_lanes.cuh"

/* State that all rays of a kernel share. */
typedef struct compressed_scene {
    const uint4 *units;        /* two per 32-byte unit */
    const float *positions;    /* for indexed leaves: the mesh */
    const uint32_t *triangles; /* three vertices each */
    uint32_t alignment;        /* of blocks, if leaves are indexed */
    box3 box;
    bool empty;           /* no triangle can be hit */
    compressed_grid grid; /* of indexed leaves */
} compressed_scene;

static __host__ __device__ __forceinline__ compressed_scene
compressed_scene_of(const tritree_view &tree) {
    compressed_scene scene;
    scene.units = (const uint4 *)tree.compressed;
    scene.positions = (const float *)tree.positions;
    scene.triangles = tree.triangles;
    scene.alignment = compressed_alignment(true, tree.triangle_count);
    scene.box = tree.box;
    scene.empty = tree.reference_count == 0;
    scene.grid = compressed_grid_make(tree.box);
    return scene;
}

/* Returns the id of a deferred triangle. */
template <bool indexed>
COMPRESSED_FN uint32_t compressed_id_at(const compressed_scene &scene, uint32_t row) {
    if (indexed) return row;
    return __ldg((const uint32_t *)(scene.units + row) + 3) & ~COMPRESSED_LAST;
}

/* A leaf in the ray's coordinate system, whose z is the axis of the direction's largest component.
   The axes are permuted by selecting rows, not by moving data. */
struct compressed_sight {
    const float *x, *y, *z; /* rows of the first triangle; indexed: coordinates of vertex 0 */
    float ox, oy, oz;
    float shear_x, shear_y, along; /* shears per z; the sign of the direction in z, 1 or -1 */
};

/* The next triangle of an indexed leaf. Its vertices are looked up while the one before it is
   tested. */
struct compressed_next {
    uint32_t word, a, b, c;

    __device__ __forceinline__ void fetch(const compressed_scene &scene, const uint32_t *at) {
        word = __ldg(at);
        const uint32_t *index = scene.triangles + 3 * (uint64_t)(word & ~COMPRESSED_LAST);
        a = __ldg(index), b = __ldg(index + 1), c = __ldg(index + 2);
    }
    /* Returns one coordinate of the three corners; `from`: that of vertex 0. */
    __device__ __forceinline__ float4 along(const float *from) const {
        return make_float4(__ldg(from + 3 * (uint64_t)a), __ldg(from + 3 * (uint64_t)b),
                           __ldg(from + 3 * (uint64_t)c), 0);
    }
};

/* A triangle in that coordinate system: corners relative to the origin and sheared, and the three
   edge functions (barycentric weights up to a common factor). */
struct compressed_seen {
    float ax, ay, az, bx, by, bz, cx, cy, cz;
    float wa, wb, wc, smallest;

    __device__ __forceinline__ void test(const compressed_sight &by_ray, float4 x, float4 y,
                                         float4 z) {
        az = z.x - by_ray.oz, bz = z.y - by_ray.oz, cz = z.z - by_ray.oz;
        ax = x.x - by_ray.ox - by_ray.shear_x * az, ay = y.x - by_ray.oy - by_ray.shear_y * az;
        bx = x.y - by_ray.ox - by_ray.shear_x * bz, by = y.y - by_ray.oy - by_ray.shear_y * bz;
        cx = x.z - by_ray.ox - by_ray.shear_x * cz, cy = y.z - by_ray.oy - by_ray.shear_y * cz;
        wa = cx * by - cy * bx, wb = ax * cy - ay * cx, wc = bx * ay - by * ax;
        smallest = compressed_min3(fabsf(wa), fabsf(wb), fabsf(wc));
    }
    /* is_large: the float weights have certain signs. is_mixed: the signs differ, so the ray
       misses. */
    __device__ __forceinline__ bool is_large() const { return smallest > 0x1p-80f; }
    __device__ __forceinline__ bool is_mixed() const {
        const int a = __float_as_int(wa), b = __float_as_int(wb), c = __float_as_int(wc);
        return ((a ^ b) | (a ^ c)) < 0;
    }
    __device__ __forceinline__ float wide() const {
        return compressed_max3(fabsf(ax), fabsf(bx), fabsf(cx));
    }
    __device__ __forceinline__ float tall() const {
        return compressed_max3(fabsf(ay), fabsf(by), fabsf(cy));
    }
    /* Upper bound of the error of t for a triangle seen nearly edge-on. */
    __device__ __forceinline__ float blur(float inverse, float along) const {
        const float deep = compressed_max3(fabsf(az), fabsf(bz), fabsf(cz));
        const float spread = compressed_max3(az, bz, cz) - compressed_min3(az, bz, cz);
        const float off =
            0x1p-18f * (deep + fmaxf(wide(), tall())) * (wide() + tall()) * fabsf(inverse);
        return fmaf(spread, off < 0.5f ? off : 1, 0x1p-20f * deep) * fabsf(along);
    }
    /* Returns true if the ray certainly misses a triangle for which triangle_intersect would use
       double precision, because two weights of opposite sign exceed their rounding errors. */
    __device__ __forceinline__ bool is_passed() const {
        const float rounding = 0x1p-21f * wide() * tall();
        return compressed_min3(wa, wb, wc) < -rounding && compressed_max3(wa, wb, wc) > rounding;
    }
};

#endif
