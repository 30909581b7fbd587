#include "accel/trace.h"
#include "core/parallel.h"

enum { GRAIN = 1024 }; /* rays a piece */

typedef struct batch {
    const tritree_view *tree;
    const ray *rays;
    ray_hit *hits; /* NULL: any hit will do */
    uint8_t *blocked;
    tritree_counts *counts;
    job *watched;
} batch;

static void cast_piece(void *context, int64_t begin, int64_t end, int thread) {
    const batch *b = (const batch *)context;
    (void)thread;
    if (job_cancelled(b->watched)) return;
    for (int64_t i = begin; i < end; ++i) {
        if (b->counts) {
            memset(&b->counts[i], 0, sizeof b->counts[i]);
            if (b->hits)
                b->hits[i] = tritree_closest_counted(b->tree, b->rays[i], &b->counts[i]);
            else
                b->blocked[i] = tritree_occluded_counted(b->tree, b->rays[i], &b->counts[i]);
        } else if (b->hits) {
            b->hits[i] = tritree_closest(b->tree, b->rays[i]);
        } else {
            b->blocked[i] = tritree_occluded(b->tree, b->rays[i]);
        }
    }
    job_advance(b->watched, end - begin);
}

static kd_status cast_batch(batch *b, uint64_t count) {
    KD_REQUIRE(count <= INT64_MAX, KD_ERROR_USAGE, "%llu rays, expected less than 2^63",
               (unsigned long long)count);
    parallel_for((int64_t)count, GRAIN, cast_piece, b);
    KD_REQUIRE(!job_cancelled(b->watched), KD_INTERRUPTED, "casting rays was cancelled");
    return KD_OK;
}

kd_status trace_closest(const tritree_view *tree, const ray *rays, ray_hit *hits, uint64_t count,
                        tritree_counts *counts, job *watched) {
    batch b = {tree, rays, hits, NULL, counts, watched};
    return cast_batch(&b, count);
}

kd_status trace_occluded(const tritree_view *tree, const ray *rays, uint8_t *blocked,
                         uint64_t count, tritree_counts *counts, job *watched) {
    batch b = {tree, rays, NULL, blocked, counts, watched};
    return cast_batch(&b, count);
}
