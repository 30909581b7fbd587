#include "accel/rays/batch.h"
#include "accel/wide/wide_tree.h"
#include "core/parallel/parallel.h"

enum {
    GRAIN = 1024, /* rays per piece */
    APART = 8     /* number of packets cast as streams after packets have not paid off */
};

typedef struct batch {
    const tritree_view *tree;
    const ray *rays;
    ray_hit *hits; /* NULL: occlusion */
    uint8_t *blocked;
    tritree_counts *counts;
    job_control *job;
} batch;

static void cast_one(const batch *b, int64_t i) {
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

/* Casts sixteen neighbours as a packet. Returns false if they are not coherent. */
static bool cast_together(const batch *b, int64_t begin, packet_use *use) {
    if (b->hits) return trace_wide_packet(b->tree, b->rays + begin, false, b->hits + begin, use);
    ray_hit any[WIDE_PACKET];
    if (!trace_wide_packet(b->tree, b->rays + begin, true, any, use)) return false;
    for (int64_t i = 0; i < WIDE_PACKET; ++i) b->blocked[begin + i] = any[i].triangle != KD_NONE;
    return true;
}

/* Returns how many of the next packets to cast as streams: APART if packets have recently cost more
   than streams would have, else 0. */
static int packets_use_separate(packet_use *use) {
    const bool streams_win = use->together > use->separate;
    use->together -= use->together / 4; /* exponential decay of old measurements */
    use->separate -= use->separate / 4;
    return streams_win ? APART : 0;
}

/* Casts rays [begin, end) in packets; rays that are not coherent, or gain nothing from packets, are
   cast as streams. */
static void cast_piece_by_vectors(const batch *b, int64_t begin, int64_t end) {
    uint32_t listed[GRAIN], count = 0;
    packet_use use = {0, 0};
    int separate = 0;
    for (int64_t i = begin; i < end;) {
        if (separate > 0) {
            --separate;
        } else if (end - i >= WIDE_PACKET && cast_together(b, i, &use)) {
            separate = packets_use_separate(&use);
            i += WIDE_PACKET;
            continue;
        }
        for (int64_t k = i; i < end && i < k + WIDE_PACKET; ++i)
            listed[count++] = (uint32_t)(i - begin);
    }
    if (count == 0) return;
    if (b->hits)
        trace_wide(b->tree, b->rays + begin, listed, count, b->hits + begin);
    else
        trace_wide_any(b->tree, b->rays + begin, listed, count, b->blocked + begin);
}

static void cast_piece(void *context, int64_t begin, int64_t end, int thread) {
    const batch *b = (const batch *)context;
    (void)thread;
    if (job_cancelled(b->job)) return;
    const bool by_vectors = !b->counts && b->tree->wide;
    for (int64_t i = begin; i < end; i += GRAIN) {
        const int64_t piece_end = end - i < GRAIN ? end : i + GRAIN;
        if (by_vectors)
            cast_piece_by_vectors(b, i, piece_end);
        else
            for (int64_t k = i; k < piece_end; ++k) cast_one(b, k);
    }
    job_advance(b->job, end - begin);
}

static kd_status cast_batch(batch *b, uint64_t count) {
    KD_REQUIRE(count <= INT64_MAX, KD_ERROR_USAGE,
               "`count` is %llu; supported: less than 2^63 rays", (unsigned long long)count);
    parallel_for((int64_t)count, GRAIN, cast_piece, b);
    KD_REQUIRE(!job_cancelled(b->job), KD_INTERRUPTED, "ray casting was cancelled");
    return KD_OK;
}

kd_status trace_closest(const tritree_view *tree, const ray *rays, ray_hit *hits, uint64_t count,
                        tritree_counts *counts, job_control *job) {
    batch b = {tree, rays, hits, NULL, counts, job};
    return cast_batch(&b, count);
}

kd_status trace_occluded(const tritree_view *tree, const ray *rays, uint8_t *blocked,
                         uint64_t count, tritree_counts *counts, job_control *job) {
    batch b = {tree, rays, NULL, blocked, counts, job};
    return cast_batch(&b, count);
}
