/* The loop for the fast test's rays that run apart: persistent threads, 1.04 to 1.3 x a thread a
   ray (tools/bench/results/h200-variants.txt).
   Source: Aila and Laine 2009, "Understanding the efficiency of ray traversal on GPUs".
   Idea: the card is filled once; as soon as fewer than CAST_REFILL lanes of a warp have work,
         the idle ones store what they found, all at a time, and fetch the next rays of the
         batch, which pays when rays of one warp differ in length. Why lanes meet before and
         after they fetch: they leave the inner loop when few of them are active, and
         __activemask() counts only those that the hardware runs together. A warp may part at the
         atomic: ptxas puts a YIELD there, often into the branch of the lane that executes it,
         and the lanes that wait at the branch's end go on without that one. From then on the
         warp would run in parts, each of fewer lanes than CAST_REFILL, which leave the inner
         loop at every leaf. So a ballot of all lanes says who fetches, and a barrier makes the
         warp whole again.
   Data flow: warps fetch 32 rays or fewer at a time by one atomic; each ray's hit is stored by
              the lane that cast it, at the ray's place. */
#ifndef KD_ACCEL_RAYS_PERSISTENT_CUH
#define KD_ACCEL_RAYS_PERSISTENT_CUH
#include "accel/rays/planes.cuh"

enum { CAST_REFILL = 14 /* of 32 lanes */ };

template <bool any>
__global__ __launch_bounds__(CAST_BLOCK, walk_planes::blocks) void cast_persistent(const caster c) {
    if (is_for_other_loop(c, true)) return;
    walk_planes on;
    walk_planes::entry stack[CAST_STACK];
    uint32_t i = KD_NONE; /* none yet */
    bool idle = true;
    for (;;) {
        const unsigned lanes = __ballot_sync(~0u, idle);
        if (idle) {
            if (i < c.count) on.template store<any>(c, i);
            i = fetch_for(c.cursor, lanes);
            if (i >= c.count) return;
            on.begin(c, i);
            idle = false;
        }
        __syncwarp();
        do {
            on.descend(c, stack);
            if (on.template test<any>(c) || !on.pop(stack)) {
                idle = true;
                break;
            }
        } while (__popc(__activemask()) >= CAST_REFILL);
    }
}

#endif
