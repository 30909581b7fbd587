/* Idea: a camera path does not depend on the results of lookups, so each rank traces all paths and
         records the lookups, in the order of pixels. Sums over the photons within a radius are
         integers (flux_sum.h) and can be reduced over the ranks. For the k nearest photons, the
         radius is found first: each rank has its own k nearest, ordered by the key (distance, index
         in the list of all ranks). The number of keys below a given one is a sum over ranks, too,
         so the k-th key of all ranks is found by bisection.
   Work: all camera paths on every rank, lookups in 1/N of the photons; 64 reductions for the k
         nearest.
   Memory: for one chunk of rows at a time, 300 bytes per lookup and 48 for its sums; 24 k more for
           the k nearest. */
#include "render/photon_mapping/distributed_lookups.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { CHUNK_SAMPLES = 1 << 16, CHUNK_KEYS = 1 << 22, MAPS = 2, CHANNELS = 3, KEY_BITS = 64 };

/* Lookups of the paths of a row. */
typedef struct row_lookups {
    eye_request *list;
    eye_request_counts counts;
    uint32_t capacity; /* capacity of `list` */
    uint64_t before;   /* number of lookups in earlier rows of the chunk */
    pixel_sample *samples;
    uint32_t *first; /* index of each pixel's first lookup; width + 1 values */
    kd_status status;
} row_lookups;

/* The k nearest photons of a lookup in one map. */
typedef struct near_keys {
    uint64_t *keys; /* distance and index, ascending */
    uint32_t *nodes;
    uint32_t count;
} near_keys;

typedef struct lookup_chunk {
    const struct frame *frame;
    struct film *film;
    const photon_map *maps[MAPS]; /* global, caustic */
    const photon_map_view *views[MAPS];
    const photon_view *view;
    ranks *comm;
    uint32_t sample;
    int32_t top, rows;
    const distributed_range *range;
    row_lookups *row;
    uint64_t lookups;
    int64_t *sums;   /* three for each lookup and map, and one that counts cancelled ranks */
    near_keys *near; /* for each lookup and map; NULL: fixed radius */
    uint64_t *keys;
    uint32_t *nodes;
    uint64_t *lo, *hi; /* bounds of the k-th key */
    int64_t *counted;
    atomic_ullong rays, nan_samples;
} lookup_chunk;

/* --- paths ------------------------------------------------------------------------------------ */

static uint32_t capacity_for(uint32_t requests) {
    return requests + requests / 4 + 16;
}

/* Traces a path; repeats it with a larger list if the lookups did not fit. */
static kd_status follow(const lookup_chunk *work, row_lookups *row, int32_t x, int32_t y,
                        pixel_sample *out) {
    const pixel_view eye = integrator_view(work->frame);
    photon_view view = *work->view;
    const uint32_t before = row->counts.requests;
    for (;;) {
        view.later.list = row->list;
        view.later.counts = &row->counts;
        view.later.capacity = row->capacity;
        const rng_key key = pixel_key(&eye, x, y, work->sample);
        const ray ray = pixel_ray(&eye, x, y, pixel_key(&eye, x, y, work->sample));
        const eye_path path = photon_eye_path(work->frame->scene, &view, LOOKUP_INLINE, ray, key);
        *out = pixel_of(&eye, &ray, &path.result.first, path.result.radiance, path.result.rays);
        if (row->counts.requests <= row->capacity) return KD_OK;
        const uint32_t capacity = capacity_for(row->counts.requests);
        KD_TRY(KD_GROW(row->list, before, capacity));
        row->capacity = capacity;
        row->counts.requests = before;
    }
}

static kd_status follow_row(const lookup_chunk *work, row_lookups *row, int32_t y) {
    const int32_t width = work->film->width;
    row->capacity = capacity_for((uint32_t)width);
    KD_TRY(KD_RESERVE(row->list, row->capacity));
    KD_TRY(KD_RESERVE(row->samples, (uint64_t)width));
    KD_TRY(KD_RESERVE(row->first, (uint64_t)width + 1));
    for (int32_t x = 0; x < width; ++x) {
        row->first[x] = row->counts.requests;
        KD_TRY(follow(work, row, work->film->x0 + x, work->film->y0 + y, &row->samples[x]));
    }
    row->first[width] = row->counts.requests;
    return KD_OK;
}

static void follow_rows(void *context, int64_t begin, int64_t end, int thread) {
    const lookup_chunk *work = (const lookup_chunk *)context;
    (void)thread;
    for (int64_t r = begin; r < end; ++r)
        work->row[r].status = follow_row(work, &work->row[r], work->top + (int32_t)r);
}

static kd_status follow_all(lookup_chunk *work) {
    parallel_for(work->rows, 1, follow_rows, work);
    work->lookups = 0;
    for (int32_t r = 0; r < work->rows; ++r) {
        KD_TRY(work->row[r].status);
        work->row[r].before = work->lookups;
        work->lookups += work->row[r].counts.requests;
    }
    return KD_RESERVE_ZEROED(work->sums, work->lookups * MAPS * CHANNELS + 1);
}

/* --- k nearest photons of all ranks ----------------------------------------------------------- */

static uint64_t key_of(const photon_map *map, const neighbour *neighbours) {
    const uint64_t place =
        photon_run_place(map->runs, map->run_count, map->tree.ids[neighbours->node]);
    return (uint64_t)float_bits(neighbours->dist2) << 32 | place;
}

static void find_near(const lookup_chunk *work, const eye_request *show, uint64_t slot) {
    neighbour neighbours[ESTIMATE_GATHER_MAX];
    const int m = (int)(slot % MAPS);
    near_keys *out = &work->near[slot];
    const uint32_t k = work->view->global.gather;
    out->keys = work->keys + slot * k;
    out->nodes = work->nodes + slot * k;
    out->count = work->views[m]->tree.count == 0
                     ? 0
                     : photon_nearest(work->views[m], show->at.position, k, neighbours);
    for (uint32_t i = 0; i < out->count; ++i) {
        out->keys[i] = key_of(work->maps[m], &neighbours[i]);
        out->nodes[i] = neighbours[i].node;
    }
}

static uint32_t keys_up_to(const near_keys *keys, uint64_t key) {
    uint32_t low = 0, high = keys->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (keys->keys[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void count_slots(void *context, int64_t begin, int64_t end, int thread) {
    const lookup_chunk *work = (const lookup_chunk *)context;
    (void)thread;
    for (int64_t s = begin; s < end; ++s)
        work->counted[s] =
            keys_up_to(&work->near[s], work->lo[s] + (work->hi[s] - work->lo[s]) / 2);
}

/* Finds the smallest key up to which all ranks together have k photons; all bits set if they
   have fewer. */
static kd_status find_last_keys(lookup_chunk *work) {
    const uint64_t slots = work->lookups * MAPS;
    const int64_t k = work->view->global.gather;
    KD_TRY(KD_RESERVE_ZEROED(work->lo, slots));
    KD_TRY(KD_RESERVE(work->hi, slots));
    KD_TRY(KD_RESERVE(work->counted, slots));
    memset(work->hi, 0xff, slots * sizeof *work->hi);
    for (int bit = 0; bit < KEY_BITS; ++bit) {
        parallel_for((int64_t)slots, 1024, count_slots, work);
        KD_TRY(ranks_all_sum(work->comm, work->counted, slots));
        for (uint64_t s = 0; s < slots; ++s) {
            const uint64_t middle = work->lo[s] + (work->hi[s] - work->lo[s]) / 2;
            if (work->counted[s] >= k)
                work->hi[s] = middle;
            else if (work->lo[s] < work->hi[s])
                work->lo[s] = middle + 1;
        }
    }
    return KD_OK;
}

static float radius_of(const lookup_chunk *work, uint64_t slot) {
    const float maximum = work->views[slot % MAPS]->radius;
    if (!work->near || work->hi[slot] == UINT64_MAX) return maximum;
    return sqrtf(float_from_bits((uint32_t)(work->hi[slot] >> 32)));
}

/* --- sums ------------------------------------------------------------------------------------- */

/* The k-th photon only sets the radius. */
static flux_sum near_sum(const lookup_chunk *work, const eye_request *show, uint64_t slot) {
    neighbour neighbours[ESTIMATE_GATHER_MAX];
    const near_keys *near = &work->near[slot];
    const uint64_t last = work->hi[slot];
    const float radius = radius_of(work, slot);
    uint32_t count = 0;
    while (count < near->count && near->keys[count] < last) {
        neighbours[count].dist2 = float_from_bits((uint32_t)(near->keys[count] >> 32));
        neighbours[count].node = near->nodes[count];
        ++count;
    }
    if (count == 0 || !(radius > 0)) return flux_sum_none();
    visibility_horizon horizon;
    const estimate_point point = estimate_point_on(&work->view->tiles, &show->at, radius, &horizon);
    return photon_gathered_sum(work->views[slot % MAPS], &show->at, show->wo, &point, neighbours,
                               count, radius);
}

static void lookup_rows(void *context, int64_t begin, int64_t end, int thread) {
    const lookup_chunk *work = (const lookup_chunk *)context;
    (void)thread;
    for (int64_t r = begin; r < end; ++r)
        for (uint32_t i = 0; i < work->row[r].counts.requests; ++i)
            for (int m = 0; m < MAPS; ++m) {
                const eye_request *show = &work->row[r].list[i];
                const uint64_t slot = (work->row[r].before + i) * MAPS + (uint64_t)m;
                visibility_horizon horizon;
                const estimate_point point = estimate_point_on(&work->view->tiles, &show->at,
                                                               work->views[m]->radius, &horizon);
                const flux_sum sum =
                    work->near ? near_sum(work, show, slot)
                               : photon_fixed_sum(work->views[m], &show->at, show->wo, &point);
                memcpy(work->sums + slot * CHANNELS, &sum, sizeof sum);
            }
}

static void find_rows(void *context, int64_t begin, int64_t end, int thread) {
    const lookup_chunk *work = (const lookup_chunk *)context;
    (void)thread;
    for (int64_t r = begin; r < end; ++r)
        for (uint32_t i = 0; i < work->row[r].counts.requests; ++i)
            for (int m = 0; m < MAPS; ++m)
                find_near(work, &work->row[r].list[i],
                          (work->row[r].before + i) * MAPS + (uint64_t)m);
}

static kd_status find_all_near(lookup_chunk *work) {
    const uint64_t slots = work->lookups * MAPS, k = work->view->global.gather;
    if (k == 0) return KD_OK;
    for (int m = 0; m < MAPS; ++m)
        KD_REQUIRE(work->maps[m]->count <= UINT32_MAX, KD_ERROR_USAGE,
                   "k-nearest lookups support fewer than 2^32 distributed photons, not %llu: use a "
                   "fixed radius, or fewer photons",
                   (unsigned long long)work->maps[m]->count);
    KD_TRY(KD_RESERVE(work->near, slots));
    KD_TRY(KD_RESERVE(work->keys, slots * k));
    KD_TRY(KD_RESERVE(work->nodes, slots * k));
    parallel_for(work->rows, 1, find_rows, work);
    return find_last_keys(work);
}

static kd_status sum_all(lookup_chunk *work, bool *over) {
    static_assert(sizeof(flux_sum) == CHANNELS * sizeof(int64_t), "summed as numbers");
    const uint64_t last = work->lookups * MAPS * CHANNELS;
    parallel_for(work->rows, 1, lookup_rows, work);
    work->sums[last] = frame_is_over(work->frame, work->sample);
    KD_TRY(ranks_all_sum(work->comm, work->sums, last + 1));
    *over = work->sums[last] != 0;
    return KD_OK;
}

/* --- the film --------------------------------------------------------------------------------- */

static vec3 shown(const lookup_chunk *work, const eye_request *show, uint64_t slot) {
    flux_sum sum;
    const float radius = radius_of(work, slot);
    visibility_horizon horizon;
    const estimate_point point = estimate_point_on(&work->view->tiles, &show->at, radius, &horizon);
    memcpy(&sum, work->sums + slot * CHANNELS, sizeof sum);
    if (!(radius > 0)) return vec3_all(0);
    return photon_sum_radiance(work->views[slot % MAPS], &work->view->tiles, &point, radius, &sum);
}

static void add_row(lookup_chunk *work, const row_lookups *row, int32_t y) {
    film *to = work->film;
    const pixel_view eye = integrator_view(work->frame);
    uint64_t rays = 0, nans = 0;
    for (int32_t x = 0; x < to->width; ++x) {
        pixel_sample *sample = &row->samples[x];
        if (film_samples(to, to->x0 + x, to->y0 + y) > work->sample) continue;
        vec3 gathered = vec3_all(0);
        for (uint32_t i = row->first[x]; i < row->first[x + 1]; ++i) {
            const uint64_t slot = (row->before + i) * MAPS;
            const vec3 caustic = shown(work, &row->list[i], slot + 1);
            const vec3 sum = vec3_add(caustic, shown(work, &row->list[i], slot));
            gathered = vec3_add(gathered, vec3_mul(row->list[i].throughput, sum));
        }
        sample->radiance = vec3_add(sample->radiance, gathered);
        rays += sample->rays;
        pixel_weigh(&eye, to->x0 + x, to->y0 + y, work->sample, sample);
        nans += !film_add(to, to->x0 + x, to->y0 + y, sample);
    }
    atomic_fetch_add(&work->rays, rays);
    atomic_fetch_add(&work->nan_samples, nans);
}

static void add_rows(void *context, int64_t begin, int64_t end, int thread) {
    lookup_chunk *work = (lookup_chunk *)context;
    (void)thread;
    for (int64_t r = begin; r < end; ++r) {
        const int32_t y = work->top + (int32_t)r;
        if (y >= work->range->band_top && y < work->range->band_bottom)
            add_row(work, &work->row[r], y);
    }
}

/* --- chunks ----------------------------------------------------------------------------------- */

static void chunk_free(lookup_chunk *work) {
    for (int32_t r = 0; work->row && r < work->rows; ++r) {
        memory_free(work->row[r].list);
        memory_free(work->row[r].samples);
        memory_free(work->row[r].first);
    }
    memory_free(work->row);
    memory_free(work->sums);
    memory_free(work->near);
    memory_free(work->keys);
    memory_free(work->nodes);
    memory_free(work->lo);
    memory_free(work->hi);
    memory_free(work->counted);
}

static kd_status take_chunk(lookup_chunk *work, bool *over) {
    KD_TRY(KD_RESERVE_ZEROED(work->row, (uint64_t)work->rows));
    KD_TRY(follow_all(work));
    KD_TRY(find_all_near(work));
    KD_TRY(sum_all(work, over));
    parallel_for(work->rows, 1, add_rows, work);
    return KD_OK;
}

static uint64_t chunk_samples(uint32_t gather) {
    const uint64_t near = CHUNK_KEYS / (gather + 1u);
    return near < CHUNK_SAMPLES ? near : CHUNK_SAMPLES;
}

kd_status distributed_lookups_take(const frame *frame, film *film, const photon_maps *maps,
                                   const photon_view *view, const distributed_range *range,
                                   sample_counts *counts, bool *over) {
    const uint64_t maximum = chunk_samples(view->global.gather) / (uint64_t)film->width;
    const int32_t rows = maximum < 1 ? 1 : maximum > INT32_MAX ? INT32_MAX : (int32_t)maximum;
    *over = false;
    for (int32_t top = 0; top < film->height && !*over;) {
        lookup_chunk work = {.frame = frame,
                             .film = film,
                             .maps = {&maps->global, &maps->caustic},
                             .views = {&view->global, &view->caustic},
                             .view = view,
                             .comm = frame->comm,
                             .sample = range->sample,
                             .top = top,
                             .range = range};
        work.rows = film->height - top < rows ? film->height - top : rows;
        atomic_init(&work.rays, 0);
        atomic_init(&work.nan_samples, 0);
        const kd_status status = take_chunk(&work, over);
        counts->rays += atomic_load(&work.rays);
        counts->nan_samples += atomic_load(&work.nan_samples);
        chunk_free(&work);
        KD_TRY(status);
        top += work.rows;
        job_advance(frame->job, (int64_t)work.rows * film->width);
    }
    return KD_OK;
}

/* Assumes one and a quarter lookups per path. */
uint64_t distributed_lookups_bytes(uint32_t gather) {
    const uint64_t near = gather ? 12 * (uint64_t)gather + 48 : 0;
    return chunk_samples(gather) * 5 / 4 *
           (sizeof(eye_request) + sizeof(pixel_sample) + MAPS * (sizeof(flux_sum) + near));
}

/* An all-reduce over N ranks sends all but the rank's own part twice. */
uint64_t distributed_lookups_sent(uint64_t pixels, uint32_t gather, int32_t rank_count) {
    const uint64_t each = MAPS * (sizeof(flux_sum) + (gather ? KEY_BITS * sizeof(int64_t) : 0));
    return pixels * each * 2 * ((uint64_t)rank_count - 1) / (uint64_t)rank_count;
}
