/* The loops that cast rays through the packed form, for any kernel that has rays: batches, and
   those that follow paths in waves.
   Source: Aila and Laine 2009, "Understanding the efficiency of ray traversal on GPUs".
   Idea: packed_persistent fills the card once; once PACKED_REFILL lanes of a warp are idle they
         store what they found and fetch the next rays. Steps go on while PACKED_STEPS lanes have
         one to do, then each lane that is at a leaf takes that leaf. A warp whose rays start and
         point alike should keep together: if told to, it judges those it fetched all at
         once, and waits for the last of them. Triangles that the rays put
         off are settled by another kernel, packed_settle, whose warps are full: the double
         arithmetic of a few would else cost all of them registers. packed_alone is for images: a
         thread a ray, which settles its doubts at its end. packed_cast is one ray from anywhere.

   What a kernel gives is a `work`, held in a register or constant memory, with
     uint32_t fetch(unsigned idle) const
         by these lanes of the warp together: the number of the next ray of each; numbers may end
         in the middle
     bool has(uint32_t number) const
         whether that is a ray; false: there are no more
     void load(uint32_t number, float4 &o, float4 &d) const
         origin and tmin, direction and tmax
     void store(uint32_t number, float t, float u, float v, uint32_t id) const
         id KD_NONE: a miss, t is tmax; any hit: only whether id is KD_NONE counts
     void put_off(const packed_record &) const
         to a list that packed_settle is given
   and the same work for packed_settle, of which it takes load and store. */
#ifndef KD_ACCEL_WIDE_PACKED_LOOPS_CUH
#define KD_ACCEL_WIDE_PACKED_LOOPS_CUH
#include "accel/wide/packed_walk.cuh"

enum {
    PACKED_BLOCK = 128, /* threads; 8 blocks on a multiprocessor, 64 registers a thread */
    PACKED_BLOCKS = 8,
    PACKED_REFILL = 16,
    PACKED_TOGETHER = 32, /* instead, for rays that run alike */
    PACKED_STEPS = 8
};

/* A ray whose answer is not known yet: what it found, and the triangles it put off. */
typedef struct packed_record {
    uint32_t number, count; /* count > PACKED_DOUBTS: to be cast by the other walk */
    float t, u, v;
    uint32_t id; /* KD_NONE: t is only a bound */
    uint32_t rows[PACKED_DOUBTS];
} packed_record;

/* triangle_meet, in double if need be, of the triangle in this row. */
static __device__ __noinline__ ray_hit packed_meet_row(ray cast, const float4 *row) {
    const triangle_caster with = triangle_caster_make(cast);
    const float4 x = __ldg(row), y = __ldg(row + 1), z = __ldg(row + 2);
    ray_hit hit = {0, 0, 0, KD_NONE};
    if (triangle_meet(&with, vec3_make(x.x, y.x, z.x), vec3_make(x.y, y.y, z.y),
                      vec3_make(x.z, y.z, z.z), &hit.t, &hit.u, &hit.v))
        hit.triangle = __float_as_uint(z.w) & ~PACKED_LAST;
    return hit;
}

/* The answer of a ray that put triangles off; `rows` are those of the record. */
PACKED_FN ray_hit packed_answer(const tritree_view &tree, float4 o, float4 d, ray_hit best,
                                const uint32_t *rows, uint32_t count, bool any) {
    const ray cast = ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w);
    if (count > PACKED_DOUBTS) return tritree_device_cast(&tree, cast, any);
    if (best.triangle == KD_NONE) best.t = d.w;
#pragma unroll 1
    for (uint32_t k = 0; k < count; ++k) {
        const ray_hit hit =
            packed_meet_row(cast, (const float4 *)((const uint4 *)tree.packed + rows[k]));
        if (hit.triangle != KD_NONE && hit.t > o.w &&
            (hit.t < best.t ||
             (hit.t == best.t && best.triangle != KD_NONE && hit.triangle < best.triangle)))
            best = hit;
    }
    return best;
}

template <bool any, bool bounded, class work>
__device__ __forceinline__ void packed_finish(const packed_ray<any, bounded> &on,
                                              const packed_stack &stack, const work &w,
                                              uint32_t number) {
    const bool open = on.best == PACKED_OPEN;
    const uint32_t count = open ? PACKED_DOUBTS + 1 : stack.doubts[0];
    if (count == 0 || (any && !open && on.best != KD_NONE)) {
        w.store(number, on.nearest, on.u, on.v, on.best);
        return;
    }
    packed_record record;
    record.number = number, record.count = count;
    record.t = on.nearest, record.u = on.u, record.v = on.v, record.id = on.best;
#pragma unroll 1
    for (uint32_t k = 0; k < PACKED_DOUBTS; ++k)
        record.rows[k] = !open && k < count ? stack.doubts[1 + k] : 0;
    w.put_off(record);
}

/* Steps as long as enough lanes have one to do, then leaves. By all lanes of a warp. */
template <bool any, bool bounded>
__device__ __forceinline__ void packed_turn(packed_ray<any, bounded> &on, const packed_scene &scene,
                                            packed_stack &stack) {
    bool steps;
    do {
        if (!(on.at & PACKED_LEAF_MARK)) {
            on.step(scene);
            on.pick(stack);
        }
        __syncwarp();
        steps = __popc(__ballot_sync(~0u, !(on.at & PACKED_LEAF_MARK))) >= PACKED_STEPS;
    } while (steps);
    if ((int)on.at < -1) { /* at a leaf, not idle */
        if (on.leaf(scene, stack))
            on.at = PACKED_IDLE;
        else
            on.pick(stack);
    }
    __syncwarp();
}

/* Whether half of a warp's rays start and point like the first: starts within a sixteenth of the
   box's sides, directions within about 25 degrees. By all lanes. */
template <bool any, bool bounded>
__device__ __forceinline__ bool packed_is_together(const packed_ray<any, bounded> &on,
                                                   const box3 &box) {
    const bool begun = on.at != PACKED_IDLE;
    const unsigned all = __ballot_sync(~0u, begun);
    const int first = all ? __ffs((int)all) - 1 : 0;
    const float x = __shfl_sync(~0u, on.dx, first), y = __shfl_sync(~0u, on.dy, first),
                z = __shfl_sync(~0u, on.dz, first);
    const float along = x * on.dx + y * on.dy + z * on.dz;
    const float square = (x * x + y * y + z * z) * (on.dx * on.dx + on.dy * on.dy + on.dz * on.dz);
    const float off = fabsf(__shfl_sync(~0u, on.ox, first) - on.ox) +
                      fabsf(__shfl_sync(~0u, on.oy, first) - on.oy) +
                      fabsf(__shfl_sync(~0u, on.oz, first) - on.oz);
    const float near = (box.hi.x - box.lo.x) + (box.hi.y - box.lo.y) + (box.hi.z - box.lo.z);
    const bool alike = begun && off <= near * 0.0625f && along > 0 && along * along > 0.8f * square;
    return 2 * __popc(__ballot_sync(~0u, alike)) >= __popc(all);
}

/* By all threads of the card's resident blocks. judges: warps see for themselves whether their rays
   run alike. */
template <bool any, bool bounded, class work>
__device__ __forceinline__ void packed_persistent(const packed_scene &scene, const work &w,
                                                  bool judges) {
    packed_ray<any, bounded> on;
    packed_stack stack;
    uint32_t number = KD_NONE;
    bool drained = false; /* whether there are no more rays */
    int refill = PACKED_REFILL;
    on.at = PACKED_IDLE;
    on.waiting = on.hits = 0;
    on.ox = on.oy = on.oz = on.dx = on.dy = on.dz = 0;
    for (;;) {
        const unsigned idle = __ballot_sync(~0u, on.at == PACKED_IDLE);
        if (idle == ~0u || (!drained && __popc(idle) >= refill)) {
            bool last = false;
            if (on.at == PACKED_IDLE) {
                if (number != KD_NONE) packed_finish(on, stack, w, number);
                number = KD_NONE;
                if (!drained) {
                    const uint32_t next = w.fetch(idle);
                    last = !w.has(next);
                    if (!last) {
                        float4 o, d;
                        number = next;
                        w.load(next, o, d);
                        on.template begin<false>(scene, o, d);
                        stack.doubts[0] = 0;
                    }
                }
            }
            if (drained && idle == ~0u) return;
            drained = drained || __any_sync(~0u, last);
            __syncwarp();
            if (judges && idle == ~0u)
                refill = packed_is_together(on, scene.box) ? PACKED_TOGETHER : PACKED_REFILL;
            if (judges && refill == PACKED_TOGETHER && on.at != PACKED_IDLE && on.misses(scene.box))
                on.at = PACKED_IDLE;
        }
        packed_turn(on, scene, stack);
    }
}

/* Each thread one ray, by all lanes of a warp; number KD_NONE: none. */
template <bool any, bool bounded, class work>
__device__ __forceinline__ void packed_alone(const tritree_view &tree, const work &w,
                                             uint32_t number) {
    const packed_scene scene = packed_scene_of(tree);
    packed_ray<any, bounded> on;
    packed_stack stack;
    on.at = PACKED_IDLE;
    on.waiting = on.hits = 0;
    if (number != KD_NONE) {
        float4 o, d;
        w.load(number, o, d);
        on.template begin<true>(scene, o, d);
        stack.doubts[0] = 0;
    }
    while (__any_sync(~0u, on.at != PACKED_IDLE)) packed_turn(on, scene, stack);
    if (number == KD_NONE) return;
    const bool open = on.best == PACKED_OPEN;
    const uint32_t count = open ? PACKED_DOUBTS + 1 : stack.doubts[0];
    if (count == 0 || (any && !open && on.best != KD_NONE)) {
        w.store(number, on.nearest, on.u, on.v, on.best);
        return;
    }
    float4 o, d;
    w.load(number, o, d);
    const ray_hit found = {on.nearest, on.u, on.v, on.best};
    const ray_hit hit = packed_answer(tree, o, d, found, stack.doubts + 1, count, any);
    w.store(number, hit.t, hit.u, hit.v, hit.triangle);
}

/* Records `from`, `from` + step, ... of a list. */
template <bool any, class work>
__device__ __forceinline__ void packed_settle(const tritree_view &tree, const work &w,
                                              const packed_record *list, uint32_t count,
                                              uint32_t from, uint32_t step) {
    for (uint32_t k = from; k < count; k += step) {
        const packed_record *record = list + k;
        float4 o, d;
        w.load(record->number, o, d);
        const ray_hit found = {record->t, record->u, record->v, record->id};
        const ray_hit hit = packed_answer(tree, o, d, found, record->rows, record->count, any);
        w.store(record->number, hit.t, hit.u, hit.v, hit.triangle);
    }
}

/* The number of the next ray for each of these lanes of the warp; one atomic for all. */
PACKED_FN uint32_t packed_fetch(uint32_t *cursor, unsigned lanes) {
    const int lane = threadIdx.x & 31, leader = __ffs((int)lanes) - 1;
    uint32_t first = 0;
    if (lane == leader) first = atomicAdd(cursor, (uint32_t)__popc(lanes));
    return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
}

/* One ray, by a thread on its own or with others of its warp: what tritree_device_cast answers. */
static __device__ __noinline__ ray_hit packed_cast(const tritree_view *tree, ray cast, bool any) {
    const packed_scene scene = packed_scene_of(*tree);
    packed_ray<false, true> on;
    packed_stack stack;
    const float4 o = make_float4(cast.origin.x, cast.origin.y, cast.origin.z, cast.tmin),
                 d = make_float4(cast.direction.x, cast.direction.y, cast.direction.z, cast.tmax);
    if (!tree->packed) return tritree_device_cast(tree, cast, any);
    on.begin<true>(scene, o, d);
    stack.doubts[0] = 0;
    while (on.at != PACKED_IDLE) {
        while (!(on.at & PACKED_LEAF_MARK)) {
            on.step(scene);
            on.pick(stack);
        }
        if (on.at == PACKED_IDLE) break;
        if (on.leaf(scene, stack) || (any && on.best != KD_NONE))
            on.at = PACKED_IDLE;
        else
            on.pick(stack);
    }
    const uint32_t count = on.best == PACKED_OPEN ? PACKED_DOUBTS + 1 : stack.doubts[0];
    const ray_hit found = {on.nearest, on.u, on.v, on.best};
    if (count == 0 || (any && count <= PACKED_DOUBTS && on.best != KD_NONE)) return found;
    return packed_answer(*tree, o, d, found, stack.doubts + 1, count, any);
}

#endif
