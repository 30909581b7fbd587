/* Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 5.
   Idea: all cores trace a batch of paths in pieces; the rays of a piece are traced together, as a
         wavefront. Each piece sorts its photons into the order (path, bounce). A scan over the
         number of photons of each path yields their positions in the list, and the path at which
         enough photons are stored. The result does not depend on the assignment of paths to
         threads.
   Memory: the photons, and one batch: about 10 MB of photons and 64 bytes per path. */
#include "photon/emission/emit.h"
#include "accel/rays/batch.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "photon/emission/emit_ranks.h"
#include "points/tree/pointtree.h"

enum {
    PIECE_PATHS = 256,
    BATCH_PATHS = 1 << 16,
    BATCH_PATHS_MIN = 4 * PIECE_PATHS,
    PIECE_FIRST_CAPACITY = 256,
    PHOTONS_PLANNED = 2, /* photons per path, for planning; bright interiors yield some more */
    LIST_SPARE = 256,
    SCALE_GRAIN = 1 << 16
};

typedef struct emit_piece {
    photon *photons;
    uint64_t count, capacity;
    uint64_t place; /* position of its photons in the list */
    uint64_t taken; /* number of its photons used */
    kd_status status;
} emit_piece;

typedef struct emit_batch {
    const scene_view *scene;
    const photon_order *order;
    uint64_t first_path;
    uint32_t paths;         /* number of paths of this rank in this batch */
    uint32_t paths_max;     /* maximum number of paths in a batch */
    uint32_t path_capacity; /* capacity of the arrays, in paths */
    uint32_t piece_count;   /* capacity, in pieces */
    emit_piece *pieces;
    uint32_t *counts; /* number of photons of each path */
    photon_ledger *ledgers;
    double ledger_scale;
    ledger_sum ledger; /* sum over all paths used */
    photon *destination;
    uint64_t shift; /* position of the first local photon in the list of all ranks, for distributed
                       lists */
    emit_share share;
} emit_batch;

/* The active paths of a piece: all of them advance by one ray at a time until none is left. */
typedef struct wave {
    photon_path batch_paths[PIECE_PATHS];
    uint16_t flying[PIECE_PATHS]; /* indices of the active paths, ascending */
    uint32_t count;
    ray rays[PIECE_PATHS];
    ray_hit hits[PIECE_PATHS];
} wave;

static kd_status piece_put(emit_piece *piece, const photon *landed) {
    if (piece->count == piece->capacity) {
        KD_TRY(KD_GROW(piece->photons, piece->count, 2 * piece->capacity));
        piece->capacity *= 2;
    }
    piece->photons[piece->count++] = *landed;
    return KD_OK;
}

/* As photon_path_next, once a ray's hit is known. Sets *on if the path has another ray. */
static kd_status wave_arrive(emit_batch *batch, emit_piece *piece, uint32_t index,
                             photon_path *state, ray_hit hit, bool *on) {
    const scene_view *scene = batch->scene;
    const photon_filter *filter = &batch->order->filter;
    photon_ledger *ledger = &batch->ledgers[index];
    photon landing;
    surface at;
    bool in_volume;
    if (photon_path_shines(scene, filter, state, hit, &landing)) {
        KD_TRY(piece_put(piece, &landing));
        ++batch->counts[index];
    }
    *on = photon_passes(scene, &state->flying, state->key, state->step, &hit, &state->layers,
                        &in_volume, ledger);
    if (*on) return KD_OK;
    const photon_turn turn =
        photon_path_arrive(scene, state, hit, in_volume, SURFACE_ANY, &at, ledger);
    if (turn == PHOTON_ENDS) return KD_OK;
    if (photon_path_lands(scene, filter, turn, &at, state, &landing)) {
        KD_TRY(piece_put(piece, &landing));
        ++batch->counts[index];
    }
    *on = photon_path_go_on(scene, filter, turn, &at, SURFACE_ANY, state, ledger) &&
          !photon_path_is_over(filter, state, ledger);
    return KD_OK;
}

/* Traces the paths first ... first + paths; photons are stored as they occur. */
static kd_status wave_trace(emit_batch *batch, emit_piece *piece, uint32_t first, uint32_t paths,
                            wave *w) {
    w->count = 0;
    for (uint32_t i = 0; i < paths; ++i) {
        photon_ledger *ledger = &batch->ledgers[first + i];
        batch->counts[first + i] = 0;
        if (photon_path_begin(batch->scene, &batch->order->emission, batch->first_path + first + i,
                              &w->batch_paths[i], ledger) &&
            !photon_path_is_over(&batch->order->filter, &w->batch_paths[i], ledger))
            w->flying[w->count++] = (uint16_t)i;
    }
    while (w->count) {
        const uint32_t count = w->count;
        for (uint32_t j = 0; j < count; ++j) {
            w->rays[j] = w->batch_paths[w->flying[j]].flying.ray;
            ++w->batch_paths[w->flying[j]].step;
            ++batch->ledgers[first + w->flying[j]].rays;
        }
        (void)trace_closest(&batch->scene->tree, w->rays, w->hits, count, NULL, NULL);
        w->count = 0;
        for (uint32_t j = 0; j < count; ++j) {
            const uint16_t i = w->flying[j];
            bool on = false;
            KD_TRY(wave_arrive(batch, piece, first + i, &w->batch_paths[i], w->hits[j], &on));
            w->flying[w->count] = i;
            w->count += on;
        }
    }
    return KD_OK;
}

static kd_status piece_trace(emit_batch *batch, emit_piece *piece, uint32_t first, uint32_t paths) {
    wave *w = NULL; /* too large for a stack */
    KD_TRY(KD_RESERVE(w, 1));
    const kd_status status = wave_trace(batch, piece, first, paths, w);
    memory_free(w);
    return status;
}

/* Sorts photons into the order (path, bounce); the photons of a path are in the order of bounces
   already. */
static kd_status piece_order(const emit_batch *batch, emit_piece *piece, uint32_t first,
                             uint32_t paths) {
    photon *ordered = NULL;
    uint64_t place[PIECE_PATHS], next = 0;
    if (piece->count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(ordered, piece->capacity));
    for (uint32_t i = 0; i < paths; ++i) {
        place[i] = next;
        next += batch->counts[first + i];
    }
    const uint32_t low =
        (uint32_t)(batch->first_path + first); /* low 32 bits of the first path's index */
    for (uint64_t i = 0; i < piece->count; ++i)
        ordered[place[piece->photons[i].path - low]++] = piece->photons[i];
    memory_free(piece->photons);
    piece->photons = ordered;
    return KD_OK;
}

static void trace_pieces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    emit_batch *batch = (emit_batch *)context;
    for (int64_t p = begin; p < end; ++p) {
        emit_piece *piece = &batch->pieces[p];
        const uint32_t first = (uint32_t)p * PIECE_PATHS, left = batch->paths - first;
        const uint32_t paths = left < PIECE_PATHS ? left : PIECE_PATHS;
        piece->count = 0;
        piece->status = piece_trace(batch, piece, first, paths);
        if (piece->status == KD_OK) piece->status = piece_order(batch, piece, first, paths);
    }
}

/* Scans the paths in order: computes positions and sums, and finds the end of the list. `counted`
   holds paths and photons before the batch. */
static emit_part scan_batch(emit_batch *batch, emit_part counted) {
    const uint64_t target = batch->order->target, longest = emit_paths_max(batch->order);
    emit_part part;
    memset(&part, 0, sizeof part);
    for (uint32_t p = 0; p < batch->piece_count; ++p) batch->pieces[p].taken = 0;
    for (uint32_t i = 0; i < batch->paths && !part.ended; ++i) {
        emit_piece *piece = &batch->pieces[i / PIECE_PATHS];
        if (i % PIECE_PATHS == 0) piece->place = counted.photons + part.photons;
        piece->taken += batch->counts[i];
        part.photons += batch->counts[i];
        ++part.paths;
        const uint64_t photons = counted.photons + part.photons, paths = counted.paths + part.paths;
        const bool fruitless = paths % EMIT_PATHS_IN_VAIN == 0 &&
                               photons < paths / EMIT_PATHS_IN_VAIN * emit_min_landed(batch->order);
        part.complete = photons >= target;
        part.ended = part.complete || paths >= longest || fruitless;
    }
    return part;
}

/* Sums the energy balances of the paths used. */
static void sum_ledgers(emit_batch *batch, uint64_t paths) {
    for (uint64_t i = 0; i < paths; ++i) {
        const ledger_units units = ledger_in_units(&batch->ledgers[i], batch->ledger_scale);
        ledger_sum_add(&batch->ledger, &units, batch->ledgers[i].rays);
    }
}

static void copy_pieces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const emit_batch *batch = (const emit_batch *)context;
    for (int64_t p = begin; p < end; ++p) {
        const emit_piece *piece = &batch->pieces[p];
        if (piece->taken == 0) continue;
        memcpy(batch->destination + (piece->place - batch->shift), piece->photons,
               piece->taken * sizeof *piece->photons);
    }
}

/* Reserves memory for `paths` paths; old contents are lost. */
static kd_status batch_reserve(emit_batch *batch, uint32_t paths) {
    const uint32_t pieces = (paths + PIECE_PATHS - 1) / PIECE_PATHS;
    if (paths <= batch->path_capacity) return KD_OK;
    memory_free(batch->counts);
    memory_free(batch->ledgers);
    batch->counts = NULL;
    batch->ledgers = NULL;
    KD_TRY(KD_RESERVE(batch->counts, paths));
    KD_TRY(KD_RESERVE(batch->ledgers, paths));
    KD_TRY(KD_GROW(batch->pieces, batch->piece_count, pieces));
    memset(batch->pieces + batch->piece_count, 0,
           (pieces - batch->piece_count) * sizeof *batch->pieces);
    for (uint32_t p = batch->piece_count; p < pieces; ++p) {
        batch->piece_count = p + 1;
        KD_TRY(KD_RESERVE(batch->pieces[p].photons, PIECE_FIRST_CAPACITY));
        batch->pieces[p].capacity = PIECE_FIRST_CAPACITY;
    }
    batch->path_capacity = paths;
    return KD_OK;
}

uint64_t photon_list_bytes(uint64_t photons) {
    return photons ? (photons + LIST_SPARE) * sizeof(photon) : 0;
}

uint64_t photon_batch_bytes(uint64_t photons) {
    const uint64_t paths = photons < BATCH_PATHS ? photons + BATCH_PATHS_MIN : BATCH_PATHS;
    const uint64_t each =
        sizeof(uint32_t) + sizeof(photon_ledger) + PHOTONS_PLANNED * sizeof(photon);
    /* Each thread traces a piece: its wave, and its photons a second time while they are ordered.
     */
    const uint64_t pieces = (paths + PIECE_PATHS - 1) / PIECE_PATHS,
                   threads = (uint64_t)parallel_threads();
    const uint64_t traced = (pieces < threads ? pieces : threads) *
                            (sizeof(wave) + PIECE_FIRST_CAPACITY * sizeof(photon));
    return photons ? paths * each + traced : 0;
}

static void batch_release(emit_batch *batch) {
    for (uint32_t p = 0; batch->pieces && p < batch->piece_count; ++p)
        memory_free(batch->pieces[p].photons);
    memory_free(batch->pieces);
    memory_free(batch->counts);
    memory_free(batch->ledgers);
    emit_share_close(&batch->share);
}

typedef struct power_scaling {
    photon *photons;
    float factor;
} power_scaling;

static void scale_powers(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const power_scaling *scaling = (const power_scaling *)context;
    for (int64_t i = begin; i < end; ++i)
        scaling->photons[i].power = vec3_scale(scaling->photons[i].power, scaling->factor);
}

static void list_finish(photon_list *list, const emit_batch *batch) {
    if (list->emitted == 0) return;
    power_scaling scaling = {list->photons, (float)(1 / (double)list->emitted)};
    parallel_for((int64_t)list->count, SCALE_GRAIN, scale_powers, &scaling);
    list->ledger = ledger_sum_mean(&batch->ledger, batch->ledger_scale, list->emitted);
    list->rays = batch->ledger.rays;
}

/* Estimates how many paths are needed; those beyond the last photon wanted are wasted. */
static uint32_t batch_choose_paths(const emit_batch *batch, const photon_list *list) {
    if (batch->order->batch_paths) return batch->paths_max;
    const uint64_t count = list->count + list->remote_count;
    const uint64_t left = emit_paths_max(batch->order) - list->emitted;
    const uint32_t most = left < batch->paths_max ? (uint32_t)left : batch->paths_max;
    const double missing = (double)(batch->order->target - count);
    const double paths = count ? 1.02 * missing * (double)list->emitted / (double)count
                               : 0.5 * missing + (double)list->emitted;
    if (!(paths < most)) return most;
    return paths > BATCH_PATHS_MIN  ? (uint32_t)paths
           : most < BATCH_PATHS_MIN ? most
                                    : BATCH_PATHS_MIN;
}

/* Traces the paths of a batch; *landed is the number of photons stored. */
static kd_status trace_batch(emit_batch *batch, uint64_t *landed) {
    KD_TRY(batch_reserve(batch, batch->paths));
    const uint32_t pieces = (batch->paths + PIECE_PATHS - 1) / PIECE_PATHS;
    *landed = 0;
    parallel_for(pieces, 1, trace_pieces, batch);
    for (uint32_t p = 0; p < pieces; ++p) {
        KD_TRY(batch->pieces[p].status);
        *landed += batch->pieces[p].count;
    }
    return KD_OK;
}

/* Starts a run of a distributed list; `place` is its index in the list of all ranks. */
static kd_status begin_run(photon_list *list, uint64_t place, uint64_t photons) {
    if (photons == 0) return KD_OK;
    KD_TRY(KD_GROW(list->runs, list->run_count, (uint64_t)list->run_count + 1));
    list->runs[list->run_count++] = (photon_run){list->count, place};
    return KD_OK;
}

/* Traces a batch, by all ranks, and appends its photons. */
static kd_status run_batch(photon_list *list, emit_batch *batch, uint64_t *capacity, bool *done,
                           bool *stopped, job_control *job) {
    emit_share *share = &batch->share;
    uint64_t paths = batch_choose_paths(batch, list), landed = 0;
    list->cut = emit_is_overdue(batch->order, list->emitted);
    KD_TRY(emit_share_plan(share, &paths, &list->cut));
    *done = list->cut;
    if (list->cut) return KD_OK;
    batch->first_path = list->emitted + share->first;
    batch->paths = (uint32_t)share->paths;
    KD_TRY(trace_batch(batch, &landed));
    KD_TRY(emit_share_landed(share, landed, job_cancelled(job), stopped));
    const uint64_t before = list->count, all_before = before + list->remote_count;
    const emit_part counted = {batch->first_path, all_before + share->before, 0, 0};
    emit_part part = scan_batch(batch, counted), all;
    KD_TRY(emit_share_parts(share, &part, all_before, &all));
    sum_ledgers(batch, part.paths);
    const bool distributed = batch->order->distributed && share->comm;
    if (distributed) KD_TRY(begin_run(list, counted.photons, part.photons));
    batch->shift = distributed ? counted.photons - before : 0;
    list->count += distributed ? part.photons : all.photons;
    list->remote_count += distributed ? all.photons - part.photons : 0;
    list->emitted += all.paths;
    list->complete = all.complete;
    *done = all.ended;
    if (list->count > *capacity) {
        const uint64_t larger = list->count + list->count / 4;
        KD_TRY(KD_GROW(list->photons, before, larger));
        *capacity = larger;
    }
    batch->destination = list->photons;
    const uint32_t pieces = (uint32_t)((part.paths + PIECE_PATHS - 1) / PIECE_PATHS);
    parallel_for(pieces, 16, copy_pieces, batch);
    if (!distributed) KD_TRY(emit_share_photons(share, list->photons));
    job_advance(job, (int64_t)all.photons);
    return KD_OK;
}

bool emit_is_overdue(const photon_order *order, uint64_t emitted) {
    return order->deadline > 0 && emitted > 0 && timing_now() >= order->deadline;
}

kd_status photon_list_open(photon_list *out, const scene_view *scene, const photon_order *order,
                           job_control *job) {
    memset(out, 0, sizeof *out);
    const bool distributed = order->distributed && ranks_shared(order->comm);
    const uint64_t keepers = distributed ? (uint64_t)order->comm->size : 1;
    KD_REQUIRE(order->target / keepers <= POINTTREE_COUNT_MAX / 2, KD_ERROR_USAGE,
               "%llu photons requested; one map supports at most %u",
               (unsigned long long)order->target, POINTTREE_COUNT_MAX / 2);
    if (order->target == 0 || scene->light_count == 0 || !(scene->total_power > 0)) return KD_OK;
    kd_status status = KD_OK;
    emit_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.scene = scene;
    batch.order = order;
    batch.ledger_scale = ledger_scale(scene->total_power);
    batch.paths_max = order->batch_paths ? order->batch_paths : BATCH_PATHS;
    if (ranks_shared(order->comm) && !order->batch_paths)
        batch.paths_max *= (uint32_t)(order->comm->size < 64 ? order->comm->size : 64);
    uint64_t capacity = order->target / keepers + LIST_SPARE;
    bool done = false, stopped = false;
    KD_TRY_GOTO(emit_share_open(&batch.share, order->comm));
    KD_TRY_GOTO(KD_RESERVE(out->photons, capacity));
    while (!done) {
        KD_TRY_GOTO(run_batch(out, &batch, &capacity, &done, &stopped, job));
        if (!done && stopped) {
            status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                                 "photon emission was interrupted after %llu of %llu photons",
                                 (unsigned long long)(out->count + out->remote_count),
                                 (unsigned long long)order->target);
            goto done;
        }
    }
    KD_TRY_GOTO(emit_share_ledger(&batch.share, &batch.ledger));
    list_finish(out, &batch);
done:
    batch_release(&batch);
    if (status != KD_OK) photon_list_close(out);
    return status;
}

kd_status photon_list_copy_borrowed(photon_list *list) {
    photon *copy = NULL;
    list->nodes = NULL; /* no longer valid once photons are changed */
    if (!list->borrowed) return KD_OK;
    KD_TRY(KD_RESERVE(copy, list->count));
    if (list->count) memcpy(copy, list->photons, list->count * sizeof *copy);
    list->photons = copy;
    list->borrowed = false;
    return KD_OK;
}

void photon_list_close(photon_list *owned) {
    memory_free(owned->runs);
    if (!owned->borrowed) memory_free(owned->photons);
    memset(owned, 0, sizeof *owned);
}
