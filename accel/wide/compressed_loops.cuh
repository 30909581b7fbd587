/* Traversal loops over the compressed wide form, for any kernel that has rays: batches, and
   wavefront path tracing.
   Source: Aila and Laine 2009, "Understanding the efficiency of ray traversal on GPUs".
   Idea: compressed_persistent runs persistent warps. Once COMPRESSED_REFILL lanes of a warp are
   idle, they store their results and fetch the next rays. The warp steps through nodes while at
   least COMPRESSED_STEPS lanes are at a node; then each lane that is at a leaf visits that leaf. A
   warp of coherent rays should stay together: on request (`judges`) it tests the rays of each full
   refill for coherence and, if they are coherent, refills only when all lanes are idle. Triangles
   that need double precision are deferred to a separate kernel, compressed_resolve, whose warps are
   full; in the traversal kernel their arithmetic would cost every lane registers. compressed_alone
   is for images: one ray per thread, which resolves its deferred triangles at its end.

   A kernel passes a `work`, held in registers or constant memory, with
     uint32_t fetch(unsigned idle) const
         called by the lanes `idle` of a warp together: returns the index of each lane's next ray;
         the indices may run out in the middle of the warp
     bool has(uint32_t number) const
         returns whether that index is a ray; false: there are no more rays
     void load(uint32_t number, float4 &o, float4 &d) const
         o: origin and tmin, d: direction and tmax
     void store(uint32_t number, float t, float u, float v, uint32_t id) const
         id KD_NONE: a miss, with t = tmax; for occlusion queries only whether id is KD_NONE counts
     void defer(const compressed_record &) const
         appends the record to a list, which is passed to compressed_resolve later
   and the same `work` to compressed_resolve, which uses load and store. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_LOOPS_CUH
#define KD_ACCEL_WIDE_COMPRESSED_LOOPS_CUH
#include "accel/wide/compressed_single.cuh"
#include "accel/wide/compressed_walk.cuh"

enum {
    COMPRESSED_BLOCK = 128, /* threads; 8 blocks per multiprocessor, so 64 registers per thread */
    COMPRESSED_BLOCKS = 8,
    COMPRESSED_REFILL = 16,
    COMPRESSED_TOGETHER = 32, /* replaces COMPRESSED_REFILL for coherent rays */
    COMPRESSED_STEPS = 8
};

/* A ray whose result is not final: its best hit so far and the triangles that it deferred. */
typedef struct compressed_record {
    uint32_t number, count; /* count > COMPRESSED_UNCERTAIN: cast by tritree_device_single */
    float t, u, v;
    uint32_t id; /* KD_NONE: t is only an upper bound */
    uint32_t rows[COMPRESSED_UNCERTAIN];
} compressed_record;

/* Intersects a triangle by triangle_intersect, in double precision where needed. */
static __device__ __noinline__ ray_hit compressed_intersect(ray ray, vec3 a, vec3 b, vec3 c,
                                                            uint32_t id) {
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    ray_hit hit = {0, 0, 0, KD_NONE};
    if (triangle_intersect(&precomputed, a, b, c, &hit.t, &hit.u, &hit.v)) hit.triangle = id;
    return hit;
}

/* Intersects a deferred triangle. */
COMPRESSED_FN ray_hit compressed_intersect_row(const tritree_view &tree, ray ray, uint32_t row) {
    const compressed_scene scene = compressed_scene_of(tree);
    if (tree.indexed) {
        const uint32_t *index = tree.triangles + 3 * (uint64_t)row;
        return compressed_intersect(ray, tree.positions[__ldg(index)],
                                    tree.positions[__ldg(index + 1)],
                                    tree.positions[__ldg(index + 2)], row);
    }
    const float4 *at = (const float4 *)scene.units + row;
    const float4 x = __ldg(at), y = __ldg(at + 1), z = __ldg(at + 2);
    return compressed_intersect(ray, vec3_make(x.x, y.x, z.x), vec3_make(x.y, y.y, z.y),
                                vec3_make(x.z, y.z, z.z), compressed_id_at<false>(scene, row));
}

/* Returns the hit of a ray that deferred triangles; `rows` and `count` as in compressed_record. */
COMPRESSED_FN ray_hit compressed_answer(const tritree_view &tree, float4 o, float4 d, ray_hit best,
                                        const uint32_t *rows, uint32_t count, bool any) {
    const ray ray = ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w);
    if (count > COMPRESSED_UNCERTAIN) return tritree_device_single(&tree, ray, any);
    if (best.triangle == KD_NONE) best.t = d.w;
#pragma unroll 1
    for (uint32_t k = 0; k < count; ++k) {
        const ray_hit hit = compressed_intersect_row(tree, ray, rows[k]);
        if (hit.triangle != KD_NONE && hit.t > o.w &&
            (hit.t < best.t ||
             (hit.t == best.t && best.triangle != KD_NONE && hit.triangle < best.triangle)))
            best = hit;
    }
    return best;
}

template <bool any, bool bounded, bool indexed, class work>
__device__ __forceinline__ void compressed_finish(const compressed_ray<any, bounded, indexed> &ray,
                                                  const compressed_stack &stack, const work &w,
                                                  uint32_t number) {
    const bool open = ray.best == COMPRESSED_OPEN;
    const uint32_t count = open ? COMPRESSED_UNCERTAIN + 1 : stack.uncertain[0];
    if (count == 0 || (any && !open && ray.best != KD_NONE)) {
        w.store(number, ray.nearest, ray.u, ray.v, ray.best);
        return;
    }
    compressed_record record;
    record.number = number, record.count = count;
    record.t = ray.nearest, record.u = ray.u, record.v = ray.v, record.id = ray.best;
#pragma unroll 1
    for (uint32_t k = 0; k < COMPRESSED_UNCERTAIN; ++k)
        record.rows[k] = !open && k < count ? stack.uncertain[1 + k] : 0;
    w.defer(record);
}

/* Steps through nodes while enough lanes are at a node, then visits one leaf per lane. All lanes of
   the warp must call it. */
template <bool any, bool bounded, bool indexed>
__device__ __forceinline__ void compressed_turn(compressed_ray<any, bounded, indexed> &ray,
                                                const compressed_scene &scene,
                                                compressed_stack &stack) {
    bool steps;
    do {
        if (!(ray.at & COMPRESSED_LEAF_MARK)) {
            ray.step(scene);
            ray.pick(scene, stack);
        }
        __syncwarp();
        steps = __popc(__ballot_sync(~0u, !(ray.at & COMPRESSED_LEAF_MARK))) >= COMPRESSED_STEPS;
    } while (steps);
    if ((int)ray.at < -1) { /* at a leaf, not idle */
        if (ray.leaf(scene, stack))
            ray.at = COMPRESSED_IDLE;
        else
            ray.pick(scene, stack);
    }
    __syncwarp();
}

/* Returns true if at least half of the warp's rays are coherent with the first: the origins differ
   by at most a sixteenth of the box's sides, the directions by about 25 degrees. All lanes must
   call it. */
template <bool any, bool bounded, bool indexed>
__device__ __forceinline__ bool
compressed_is_together(const compressed_ray<any, bounded, indexed> &ray, const box3 &box) {
    const bool begun = ray.at != COMPRESSED_IDLE;
    const unsigned all = __ballot_sync(~0u, begun);
    const int first = all ? __ffs((int)all) - 1 : 0;
    const float x = __shfl_sync(~0u, ray.dx, first), y = __shfl_sync(~0u, ray.dy, first),
                z = __shfl_sync(~0u, ray.dz, first);
    const float along = x * ray.dx + y * ray.dy + z * ray.dz;
    const float square =
        (x * x + y * y + z * z) * (ray.dx * ray.dx + ray.dy * ray.dy + ray.dz * ray.dz);
    const float off = fabsf(__shfl_sync(~0u, ray.ox, first) - ray.ox) +
                      fabsf(__shfl_sync(~0u, ray.oy, first) - ray.oy) +
                      fabsf(__shfl_sync(~0u, ray.oz, first) - ray.oz);
    const float near = (box.hi.x - box.lo.x) + (box.hi.y - box.lo.y) + (box.hi.z - box.lo.z);
    const bool alike = begun && off <= near * 0.0625f && along > 0 && along * along > 0.8f * square;
    return 2 * __popc(__ballot_sync(~0u, alike)) >= __popc(all);
}

/* Casts all rays of `w`. All threads of a grid that fills the device must call it. judges: each
   warp tests whether its rays are coherent. */
template <bool any, bool bounded, bool indexed, class work>
__device__ __forceinline__ void compressed_persistent(const compressed_scene &scene, const work &w,
                                                      bool judges) {
    compressed_ray<any, bounded, indexed> ray;
    compressed_stack stack;
    uint32_t number = KD_NONE;
    bool drained = false; /* there are no more rays */
    int refill = COMPRESSED_REFILL;
    ray.at = COMPRESSED_IDLE;
    ray.waiting = ray.hits = 0;
    ray.ox = ray.oy = ray.oz = ray.dx = ray.dy = ray.dz = 0;
    for (;;) {
        const unsigned idle = __ballot_sync(~0u, ray.at == COMPRESSED_IDLE);
        if (idle == ~0u || (!drained && __popc(idle) >= refill)) {
            bool last = false;
            if (ray.at == COMPRESSED_IDLE) {
                if (number != KD_NONE) compressed_finish(ray, stack, w, number);
                number = KD_NONE;
                if (!drained) {
                    const uint32_t next = w.fetch(idle);
                    last = !w.has(next);
                    if (!last) {
                        float4 o, d;
                        number = next;
                        w.load(next, o, d);
                        ray.template begin<false>(scene, o, d);
                        stack.uncertain[0] = 0;
                    }
                }
            }
            if (drained && idle == ~0u) return;
            drained = drained || __any_sync(~0u, last);
            __syncwarp();
            if (judges && idle == ~0u)
                refill = compressed_is_together(ray, scene.box) ? COMPRESSED_TOGETHER
                                                                : COMPRESSED_REFILL;
            if (judges && refill == COMPRESSED_TOGETHER && ray.at != COMPRESSED_IDLE &&
                ray.misses(scene.box))
                ray.at = COMPRESSED_IDLE;
        }
        compressed_turn(ray, scene, stack);
    }
}

/* Casts one ray per thread; KD_NONE: no ray. All lanes of a warp must call it. */
template <bool any, bool bounded, bool indexed, class work>
__device__ __forceinline__ void compressed_alone(const tritree_view &tree, const work &w,
                                                 uint32_t number) {
    const compressed_scene scene = compressed_scene_of(tree);
    compressed_ray<any, bounded, indexed> ray;
    compressed_stack stack;
    ray.at = COMPRESSED_IDLE;
    ray.waiting = ray.hits = 0;
    if (number != KD_NONE) {
        float4 o, d;
        w.load(number, o, d);
        ray.template begin<true>(scene, o, d);
        stack.uncertain[0] = 0;
    }
    while (__any_sync(~0u, ray.at != COMPRESSED_IDLE)) compressed_turn(ray, scene, stack);
    if (number == KD_NONE) return;
    const bool open = ray.best == COMPRESSED_OPEN;
    const uint32_t count = open ? COMPRESSED_UNCERTAIN + 1 : stack.uncertain[0];
    if (count == 0 || (any && !open && ray.best != KD_NONE)) {
        w.store(number, ray.nearest, ray.u, ray.v, ray.best);
        return;
    }
    float4 o, d;
    w.load(number, o, d);
    const ray_hit nearest = {ray.nearest, ray.u, ray.v, ray.best};
    const ray_hit hit = compressed_answer(tree, o, d, nearest, stack.uncertain + 1, count, any);
    w.store(number, hit.t, hit.u, hit.v, hit.triangle);
}

/* Resolves the records `from`, `from` + step, ... of a list. */
template <bool any, class work>
__device__ __forceinline__ void compressed_resolve(const tritree_view &tree, const work &w,
                                                   const compressed_record *list, uint32_t count,
                                                   uint32_t from, uint32_t step) {
    for (uint32_t k = from; k < count; k += step) {
        const compressed_record *record = list + k;
        float4 o, d;
        w.load(record->number, o, d);
        const ray_hit nearest = {record->t, record->u, record->v, record->id};
        const ray_hit hit =
            compressed_answer(tree, o, d, nearest, record->rows, record->count, any);
        w.store(record->number, hit.t, hit.u, hit.v, hit.triangle);
    }
}

/* Returns the index of the next ray for each of the given lanes of the warp, with one atomic
   operation for all of them. */
COMPRESSED_FN uint32_t compressed_fetch(uint32_t *cursor, unsigned lanes) {
    const int lane = threadIdx.x & 31, leader = __ffs((int)lanes) - 1;
    uint32_t first = 0;
    if (lane == leader) first = atomicAdd(cursor, (uint32_t)__popc(lanes));
    return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
}

#endif
