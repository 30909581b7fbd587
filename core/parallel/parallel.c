#include "core/parallel/parallel.h"
#include "core/log.h"
#include "core/parallel/cores.h"
#include "core/parallel/workers.h"
#include "core/system/place.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_int asked_threads; /* within the limit; 0: the usual number */

static int most_threads(void) {
    const int cores = cores_count();
    return cores < PARALLEL_THREADS_MAX / PARALLEL_EACH ? cores * PARALLEL_EACH
                                                        : PARALLEL_THREADS_MAX;
}

static int at_most(long threads) {
    static atomic_bool said;
    const int most = most_threads();
    if (threads <= most) return (int)threads;
    if (!atomic_exchange(&said, true))
        log_message(LOG_WARNING, "%ld threads asked for, %d taken: at most %d for each of %d cores",
                    threads, most, PARALLEL_EACH, cores_count());
    return most;
}

/* Where nobody asked for a number. The environment is read once. */
static int usual_threads(void) {
    static atomic_int known;
    int threads = atomic_load_explicit(&known, memory_order_relaxed);
    if (threads > 0) return threads;
    const char *text = place_variable("OMP_NUM_THREADS"); /* "4", or "4,2" for loops inside loops */
    const long named = text ? strtol(text, NULL, 10) : 0;
    const int cores = cores_count();
    threads = named > 0                      ? at_most(named)
              : cores < PARALLEL_THREADS_MAX ? cores
                                             : PARALLEL_THREADS_MAX;
    atomic_store_explicit(&known, threads, memory_order_relaxed);
    return threads;
}

void parallel_set_threads(int threads) {
    atomic_store_explicit(&asked_threads, threads > 0 ? at_most(threads) : 0, memory_order_relaxed);
}

int parallel_threads(void) {
    const int threads = atomic_load_explicit(&asked_threads, memory_order_relaxed);
    return threads > 0 ? threads : usual_threads();
}

typedef struct loop {
    parallel_body body;
    void *context;
    int64_t count, grain;
} loop;

static void run_piece(void *context, int64_t piece, int thread) {
    const loop *of = (const loop *)context;
    const int64_t begin = piece * of->grain;
    const int64_t end = of->count - begin > of->grain ? begin + of->grain : of->count;
    of->body(of->context, begin, end, thread);
}

void parallel_for(int64_t count, int64_t grain, parallel_body body, void *context) {
    if (grain < 1) grain = 1;
    loop of = {body, context, count, grain};
    const int64_t pieces = count / grain + (count % grain > 0);
    const int threads = parallel_threads();
    if (threads > 1 && pieces > 1 && !workers_inside()) {
        workers_run(pieces, threads, run_piece, &of);
        return;
    }
    for (int64_t piece = 0; piece < pieces; ++piece) run_piece(&of, piece, workers_thread());
}
