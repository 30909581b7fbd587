/* Rendering of a pass by chunks and by bands. Rank 0 holds the film. One of its threads serves the
   other ranks: each reports its finished chunk with the sums of the rows, and receives the next
   chunk, with the sums so far if there are any. The calling thread renders rank 0's own chunks. */
#include "distributed/render/shared_pass.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/system/machine.h"
#include "render/frame/frame.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { TAG_REQUEST = 1, TAG_DONE_ROWS, TAG_CHUNK, TAG_CHUNK_ROWS };

typedef struct chunk_message {
    int32_t top, bottom; /* rows of the film; empty: none */
    int32_t over;        /* the rank was cancelled or its time is up */
    int32_t summed;      /* the sums of the rows follow */
    uint64_t rays, nan_samples;
    double seconds;
} chunk_message;

typedef struct scheduler_thread {
    shared_pass *pass;
    ranks comm; /* a copy for the dealer's thread */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the scheduler, `over`, and the film while it is saved */
    bool over;
    kd_status status;
    char words[1024];
} scheduler_thread;

static uint64_t rows_bytes(const film *film, int32_t top, int32_t bottom) {
    return (uint64_t)(bottom - top) * (uint64_t)film->width * sizeof *film->pixels;
}

static film_pixel *rows_at(const film *film, int32_t top) {
    return film->pixels + (int64_t)top * film->width;
}

/* Returns true if rows not yet rendered in this pass may already have samples. */
static bool is_summed(const shared_pass *pass) {
    return pass->samples.begin > 0 || pass->film->resumed;
}

static void next_chunk(scheduler_thread *scheduler_thread, int32_t rank, chunk_message *out) {
    memset(out, 0, sizeof *out);
    out->summed = is_summed(scheduler_thread->pass);
    pthread_mutex_lock(&scheduler_thread->mutex);
    if (!scheduler_thread->over)
        row_scheduler_next(&scheduler_thread->pass->scheduler, rank, &out->top, &out->bottom);
    pthread_mutex_unlock(&scheduler_thread->mutex);
}

static void note_chunk(scheduler_thread *scheduler_thread, int32_t rank,
                       const chunk_message *done) {
    shared_pass *pass = scheduler_thread->pass;
    pthread_mutex_lock(&scheduler_thread->mutex);
    row_scheduler_note(&pass->scheduler, rank, done->bottom - done->top, done->seconds);
    pass->counts.rays += done->rays;
    pass->counts.nan_samples += done->nan_samples;
    scheduler_thread->over |= done->over != 0;
    pthread_mutex_unlock(&scheduler_thread->mutex);
}

/* Receives the result of a rank's chunk. */
static kd_status take_answer(scheduler_thread *scheduler_thread, int32_t *sender) {
    chunk_message done;
    film *to = scheduler_thread->pass->film;
    KD_TRY(
        ranks_receive(&scheduler_thread->comm, RANKS_ANY, TAG_REQUEST, &done, sizeof done, sender));
    KD_REQUIRE(done.top >= 0 && done.top <= done.bottom && done.bottom <= to->height,
               KD_ERROR_RUNTIME, "rank %d sent rows %d to %d of an image of %d rows", *sender,
               done.top, done.bottom, to->height);
    if (done.bottom > done.top) {
        pthread_mutex_lock(&scheduler_thread->mutex); /* waits while the film is being saved */
        const kd_status status =
            ranks_receive(&scheduler_thread->comm, *sender, TAG_DONE_ROWS, rows_at(to, done.top),
                          rows_bytes(to, done.top, done.bottom), NULL);
        pthread_mutex_unlock(&scheduler_thread->mutex);
        KD_TRY(status);
        job_advance(scheduler_thread->pass->frame->job, (int64_t)(done.bottom - done.top) *
                                                            to->width *
                                                            scheduler_thread->pass->samples.count);
    }
    note_chunk(scheduler_thread, *sender, &done);
    return KD_OK;
}

static kd_status answer_all(scheduler_thread *scheduler_thread) {
    const film *to = scheduler_thread->pass->film;
    for (int32_t active = scheduler_thread->comm.size - 1; active > 0;) {
        int32_t sender = 0;
        chunk_message next;
        KD_TRY(take_answer(scheduler_thread, &sender));
        next_chunk(scheduler_thread, sender, &next);
        KD_TRY(ranks_send(&scheduler_thread->comm, sender, TAG_CHUNK, &next, sizeof next));
        if (next.bottom == next.top)
            --active;
        else if (next.summed)
            KD_TRY(ranks_send(&scheduler_thread->comm, sender, TAG_CHUNK_ROWS,
                              rows_at(to, next.top), rows_bytes(to, next.top, next.bottom)));
    }
    return KD_OK;
}

static void *run_scheduler(void *context) {
    scheduler_thread *thread = (scheduler_thread *)context;
    thread->status = answer_all(thread);
    if (thread->status != KD_OK)
        snprintf(thread->words, sizeof thread->words, "%s", kd_last_error());
    return NULL;
}

/* Renders the samples of a chunk into the rows of the film, which hold the sums so far. */
static kd_status take_chunk(shared_pass *pass, chunk_message *chunk) {
    frame *frame = pass->frame;
    sample_counts counts = {0, 0};
    const double start = timing_now();
    if (frame->device_frame && chunk->summed)
        KD_TRY(frame_cuda_place_rows(frame->device_frame, pass->film, chunk->top, chunk->bottom));
    KD_TRY(frame_take_rows(frame, pass->film, &pass->samples, chunk->top, chunk->bottom, &counts));
    if (frame->device_frame)
        KD_TRY(frame_cuda_fetch_rows(frame->device_frame, pass->film, chunk->top, chunk->bottom));
    chunk->rays = counts.rays;
    chunk->nan_samples = counts.nan_samples;
    chunk->seconds = timing_now() - start;
    chunk->over = frame_is_over(frame, pass->samples.begin);
    pass->worked += chunk->seconds;
    pass->rows += (uint64_t)(chunk->bottom - chunk->top);
    return KD_OK;
}

/* Renders rank 0's own chunks, and saves the film in between. */
static kd_status work_locally(scheduler_thread *scheduler_thread) {
    shared_pass *pass = scheduler_thread->pass;
    for (;;) {
        chunk_message chunk;
        if (frame_is_over(pass->frame, pass->samples.begin)) {
            pthread_mutex_lock(&scheduler_thread->mutex);
            scheduler_thread->over = true;
            pthread_mutex_unlock(&scheduler_thread->mutex);
        }
        next_chunk(scheduler_thread, 0, &chunk);
        if (chunk.bottom == chunk.top) return KD_OK;
        KD_TRY(take_chunk(pass, &chunk));
        note_chunk(scheduler_thread, 0, &chunk);
        if (!(pass->pause > 0) || timing_now() < pass->pause) continue;
        pthread_mutex_lock(&scheduler_thread->mutex);
        const kd_status status = pass->keep(pass);
        pthread_mutex_unlock(&scheduler_thread->mutex);
        KD_TRY(status);
    }
}

static kd_status schedule_and_work(shared_pass *pass) {
    scheduler_thread made = {.pass = pass, .comm = *pass->comm, .mutex = PTHREAD_MUTEX_INITIALIZER};
    const film *to = pass->film;
    row_scheduler_begin(&pass->scheduler, to->height, (double)to->width * pass->samples.count);
    made.comm.sent = 0;
    KD_REQUIRE(threads_start(&made.thread, run_scheduler, &made) == 0, KD_ERROR_RUNTIME,
               "cannot create the row-scheduler thread");
    const kd_status status = work_locally(&made);
    if (status != KD_OK) ranks_abort(pass->comm, (int32_t)status);
    const double start = timing_now();
    pthread_join(made.thread, NULL);
    pass->comm->waited += timing_now() - start;
    pass->comm->sent += made.comm.sent;
    KD_TRY(status);
    if (made.status != KD_OK) return status_fail(made.status, __FILE__, __LINE__, "%s", made.words);
    return KD_OK;
}

static kd_status request_and_work(shared_pass *pass) {
    chunk_message chunk;
    film *to = pass->film;
    memset(&chunk, 0, sizeof chunk);
    for (;;) {
        KD_TRY(ranks_send(pass->comm, 0, TAG_REQUEST, &chunk, sizeof chunk));
        if (chunk.bottom > chunk.top)
            KD_TRY(ranks_send(pass->comm, 0, TAG_DONE_ROWS, rows_at(to, chunk.top),
                              rows_bytes(to, chunk.top, chunk.bottom)));
        KD_TRY(ranks_receive(pass->comm, 0, TAG_CHUNK, &chunk, sizeof chunk, NULL));
        if (chunk.bottom == chunk.top) return KD_OK;
        if (chunk.summed)
            KD_TRY(ranks_receive(pass->comm, 0, TAG_CHUNK_ROWS, rows_at(to, chunk.top),
                                 rows_bytes(to, chunk.top, chunk.bottom), NULL));
        KD_TRY(take_chunk(pass, &chunk));
    }
}

kd_status pass_by_chunks(shared_pass *pass) {
    return pass->comm->rank == 0 ? schedule_and_work(pass) : request_and_work(pass);
}

/* Bands: each rank keeps a band of rows and its sums for many passes, so that a pass transfers no
   pixels. */

/* Minimum imbalance for rebalancing, which costs an exchange of the film. */
static const double worth_it = 1.1;
enum { PATIENCE_MAX = 64 };

kd_status pass_by_bands(shared_pass *pass) {
    const int32_t rank = pass->comm->rank;
    const int32_t top = pass->bounds[rank], bottom = pass->bounds[rank + 1];
    const double start = timing_now();
    if (bottom > top)
        KD_TRY(
            frame_take_rows(pass->frame, pass->film, &pass->samples, top, bottom, &pass->counts));
    pass->seconds[rank] = timing_now() - start;
    pass->worked += pass->seconds[rank];
    pass->rows += (uint64_t)(bottom - top);
    return KD_OK;
}

static int32_t longest_band(const shared_pass *pass) {
    int32_t longest = 0;
    for (int32_t r = 0; r < pass->comm->size; ++r) {
        const int32_t rows = pass->bounds[r + 1] - pass->bounds[r];
        if (rows > longest) longest = rows;
    }
    return longest;
}

/* Distributed photon maps on devices: all ranks run their queries together, each for rows of its
   own band. Ranks with short bands take part in the last launches without rows. */
static kd_status pass_distributed_device(shared_pass *pass) {
    const frame *frame = pass->frame;
    const film *to = pass->film;
    const int32_t rank = pass->comm->rank, longest = longest_band(pass);
    const int32_t top = pass->bounds[rank], bottom = pass->bounds[rank + 1];
    const int32_t rows = frame_cuda_rows(
        to->width, to->height, 1, frame_cuda_launch_samples(frame->integrator, frame->options));
    const double start = timing_now(), waited = pass->comm->waited;
    for (uint32_t s = 0; s < pass->samples.count; ++s)
        for (int32_t at = 0; at < longest; at += rows) {
            const int32_t first = bottom - top < at ? bottom : top + at;
            const int32_t end = bottom - first < rows ? bottom : first + rows;
            const sample_range range = {
                to->x0, to->y0, to->width, first, end, pass->samples.begin + s, 1};
            KD_TRY(frame_cuda_take(frame, frame->integrator, &range, &pass->counts));
        }
    pass->seconds[rank] = timing_now() - start - (pass->comm->waited - waited);
    pass->worked += pass->seconds[rank];
    pass->rows += (uint64_t)(bottom - top);
    return KD_OK;
}

kd_status pass_distributed(shared_pass *pass) {
    frame *frame = pass->frame;
    if (frame->device_frame) return pass_distributed_device(pass);
    const int32_t rank = pass->comm->rank;
    distributed_range range = {0, pass->bounds[rank], pass->bounds[rank + 1]};
    const double start = timing_now(), waited = pass->comm->waited;
    bool over = false;
    for (uint32_t s = 0; s < pass->samples.count && !over; ++s) {
        range.sample = pass->samples.begin + s;
        KD_TRY(
            frame->integrator->take_distributed(frame, pass->film, &range, &pass->counts, &over));
    }
    pass->worked += timing_now() - start - (pass->comm->waited - waited);
    pass->rows += (uint64_t)(range.band_bottom - range.band_top);
    return KD_OK;
}

kd_status pass_collect(shared_pass *pass) {
    film *to = pass->film;
    frame *frame = pass->frame;
    const int32_t size = pass->comm->size, rank = pass->comm->rank;
    const uint64_t row = (uint64_t)to->width * sizeof *to->pixels;
    uint64_t *begins = NULL;
    int64_t counts[2] = {(int64_t)pass->counts.rays, (int64_t)pass->counts.nan_samples};
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(begins, (uint64_t)size + 1));
    for (int32_t r = 0; r <= size; ++r) begins[r] = (uint64_t)pass->bounds[r] * row;
    if (frame->device_frame)
        KD_TRY_GOTO(frame_cuda_fetch_rows(frame->device_frame, to, pass->bounds[rank],
                                          pass->bounds[rank + 1]));
    KD_TRY_GOTO(ranks_all_gather(pass->comm, to->pixels, begins));
    KD_TRY_GOTO(ranks_all_sum(pass->comm, counts, 2));
    frame->statistics.rays += (uint64_t)counts[0];
    frame->statistics.nan_samples += (uint64_t)counts[1];
    memset(&pass->counts, 0, sizeof pass->counts);
done:
    memory_free(begins);
    return status;
}

/* The number of passes between attempts doubles each time. */
kd_status pass_split_again(shared_pass *pass) {
    const int32_t size = pass->comm->size, rank = pass->comm->rank;
    if (split_imbalance(pass->seconds, size) < worth_it) return KD_OK;
    if (pass->samples.begin + 1 < pass->patience) return KD_OK;
    const uint32_t more = pass->patience < PATIENCE_MAX ? pass->patience : PATIENCE_MAX;
    pass->patience = pass->samples.begin + 1 + more;
    KD_TRY(pass_collect(pass));
    memcpy(pass->old, pass->bounds, ((size_t)size + 1) * sizeof *pass->old);
    split_again(pass->bounds, pass->old, size, pass->seconds);
    if (!pass->frame->device_frame) return KD_OK;
    return frame_cuda_place_rows(pass->frame->device_frame, pass->film, pass->bounds[rank],
                                 pass->bounds[rank + 1]);
}
