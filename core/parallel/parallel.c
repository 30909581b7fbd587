/* Thread pool for parallel loops, shared by all callers in the process. Workers are started on
   first use and sleep while idle.
   Idea: a caller publishes its list of pieces, which lives on its stack, and works through the
         list itself; idle workers take pieces from it as well. The caller therefore never waits
         for a worker to wake up: if other processes keep the cores busy, it executes all pieces.
         An idle worker polls for some microseconds before it sleeps, because the next loop often
         follows immediately. */
#include "core/parallel/parallel.h"
#include "core/job.h"
#include "core/status.h"
#include "core/system/machine.h"
#include "core/system/paths.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int cores_count(void) {
    static atomic_int cached; /* concurrent first calls compute the same value */
    int cores = atomic_load_explicit(&cached, memory_order_relaxed);
    if (cores > 0) return cores;
    cores = machine_cores();
    atomic_store_explicit(&cached, cores, memory_order_relaxed);
    return cores;
}

enum {
    WAKE_EACH = 2, /* threads woken by each thread, so that the number of awake threads doubles: 2,
                      4, 8 ... */
    POLLS_PER_CLOCK = 32 /* polls between two readings of the clock */
};
/* A waiting thread polls without yielding for about the time that waking a thread takes, then
   yields its core between polls, then sleeps. */
static const double spin_seconds = 50e-6, yield_seconds = 1e-3;

/* The pieces of one parallel_for, on the caller's stack. The pool's mutex guards the non-atomic
   fields. */
typedef struct work_list {
    void (*run)(void *context, int64_t piece, int thread);
    void *context;
    job_control *job; /* job of the caller, see job_current */
    int64_t pieces;
    int threads, joined; /* limit and current number of threads, including the caller */
    struct work_list *next;
    _Alignas(64) atomic_llong taken; /* next piece; exceeds `pieces` once all are taken */
    _Alignas(64) atomic_int working; /* workers that execute pieces */
} work_list;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t opened, left; /* signals: a list was opened; the last worker left a list */
    work_list *lists;            /* open lists, oldest first */
    pthread_t workers[PARALLEL_THREADS_MAX];
    int count, asleep, busy, waiting; /* workers in total, asleep, executing; callers waiting */
    bool closed, forkable; /* the library is being unloaded; fork handlers are installed */
    unsigned forks; /* number of forks between the original process and this one; incremented in a
                       forked child while it has a single thread */
    atomic_uint openings; /* number of lists opened so far, which idle workers poll */
} pool = {
    .mutex = THREADS_MUTEX, .opened = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static _Thread_local bool inside;
static _Thread_local int own_number;

/* Returns true while this thread executes a piece; workers_thread then returns its number in that
   loop, else 0. */
static bool workers_inside(void) {
    return inside;
}

static int workers_thread(void) {
    return own_number;
}

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Polls, for at most yield_seconds, until another list is opened or no worker is left in a list. */
static void spin(const atomic_uint *openings, unsigned seen, const atomic_int *working) {
    if (cores_count() == 1) return;
    const double begin = timing_now();
    double now = begin;
    do {
        if (now - begin > spin_seconds) sched_yield();
        for (int poll = 0; poll < POLLS_PER_CLOCK; ++poll) {
            if (openings && atomic_load_explicit(openings, memory_order_relaxed) != seen) return;
            if (working && atomic_load_explicit(working, memory_order_acquire) == 0) return;
            pause_briefly();
        }
        now = timing_now();
    } while (now - begin < yield_seconds);
}

static void work_at(work_list *list, int thread) {
    const unsigned forks = pool.forks;
    job_control *before = job_make_current(list->job);
    own_number = thread;
    inside = true;
    do { /* a worker that forked inside a piece takes no further piece in the child */
        const int64_t piece = atomic_fetch_add_explicit(&list->taken, 1, memory_order_relaxed);
        if (piece >= list->pieces) break;
        list->run(list->context, piece, thread);
    } while (thread == 0 || forks == pool.forks);
    inside = false;
    own_number = 0;
    job_make_current(before);
}

/* The caller holds the mutex. */
static bool has_capacity(const work_list *list) {
    return list->joined < list->threads &&
           atomic_load_explicit(&list->taken, memory_order_relaxed) < list->pieces;
}

/* Returns the oldest list that admits another thread, or NULL. The caller holds the mutex. */
static work_list *find_list(void) {
    work_list *list = pool.lists;
    while (list && !has_capacity(list)) list = list->next;
    return list;
}

static void wake(int count) {
    for (int i = 0; i < count && i < WAKE_EACH; ++i) pthread_cond_signal(&pool.opened);
}

/* Returns how many sleeping workers to wake for a list. The caller holds the mutex. */
static int sleepers_for(const work_list *list) {
    const int free = list->threads - list->joined;
    return free < pool.asleep ? free : pool.asleep;
}

/* Joins a list and executes pieces. Called with the mutex held, which it releases meanwhile. */
static void help(work_list *list) {
    const unsigned forks = pool.forks;
    const int thread = list->joined++;
    ++pool.busy;
    atomic_fetch_add_explicit(&list->working, 1, memory_order_relaxed);
    const int sleepers = has_capacity(list) ? sleepers_for(list) : 0;
    pthread_mutex_unlock(&pool.mutex);
    wake(sleepers);
    work_at(list, thread);
    pthread_mutex_lock(&pool.mutex);
    if (forks != pool.forks)
        threads_process_end(); /* a piece forked: this thread is not needed in the child */
    --pool.busy;
    /* `list` is invalid from here on, as its caller may return */
    if (atomic_fetch_sub_explicit(&list->working, 1, memory_order_release) == 1 && pool.waiting)
        pthread_cond_broadcast(&pool.left);
}

/* Polls for new lists for a while, or sleeps. Called with the mutex held, which it releases
   meanwhile. */
static void rest(unsigned *seen) {
    const unsigned openings = atomic_load_explicit(&pool.openings, memory_order_relaxed);
    if (openings != *seen && pool.count < cores_count()) {
        *seen = openings;
        pthread_mutex_unlock(&pool.mutex);
        spin(&pool.openings, openings, NULL);
        pthread_mutex_lock(&pool.mutex);
        return;
    }
    ++pool.asleep;
    pthread_cond_wait(&pool.opened, &pool.mutex);
    --pool.asleep;
}

static void *serve(void *unused) {
    unsigned seen = 0;
    pthread_mutex_lock(&pool.mutex);
    while (!pool.closed) {
        work_list *list = find_list();
        if (list)
            help(list);
        else
            rest(&seen);
    }
    pthread_mutex_unlock(&pool.mutex);
    return unused;
}

static void before_fork(void) {
    pthread_mutex_lock(&pool.mutex);
}

static void after_fork(void) {
    pthread_mutex_unlock(&pool.mutex);
}

/* Resets the pool in a forked child, in which only the forking thread exists. */
static void in_child(void) {
    pool.mutex = (pthread_mutex_t)THREADS_MUTEX;
    pthread_cond_init(&pool.opened, NULL);
    pthread_cond_init(&pool.left, NULL);
    pool.lists = NULL;
    pool.count = pool.asleep = pool.busy = pool.waiting = 0;
    ++pool.forks;
}

/* Runs when the library is loaded, before any fork can happen. */
__attribute__((constructor)) static void workers_hook(void) {
    pool.forkable = threads_at_fork(before_fork, after_fork, in_child);
}

/* Starts workers until there are `count` or the system refuses. The caller holds the mutex. */
static void start_workers(int count) {
    if (pool.closed || !pool.forkable) return;
    while (pool.count < count && threads_start(&pool.workers[pool.count], serve, NULL) == 0)
        ++pool.count;
}

static void open_list(work_list *list) {
    pthread_mutex_lock(&pool.mutex);
    work_list **end = &pool.lists;
    while (*end) end = &(*end)->next;
    *end = list;
    start_workers(list->threads - 1);
    atomic_fetch_add_explicit(&pool.openings, 1, memory_order_relaxed);
    const int sleepers = sleepers_for(list);
    pthread_mutex_unlock(&pool.mutex);
    wake(sleepers);
}

/* Removes the list, so that no further worker joins it. */
static void close_list(const work_list *list) {
    pthread_mutex_lock(&pool.mutex);
    work_list **at = &pool.lists;
    while (*at && *at != list) at = &(*at)->next;
    if (*at) *at = list->next; /* a forked child has already cleared the lists */
    pthread_mutex_unlock(&pool.mutex);
}

/* Waits until the workers that joined the list have left it. */
static void wait_for(const work_list *list, unsigned forks) {
    if (atomic_load_explicit(&list->working, memory_order_acquire) == 0) return;
    spin(NULL, 0, &list->working);
    if (atomic_load_explicit(&list->working, memory_order_acquire) == 0) return;
    pthread_mutex_lock(&pool.mutex);
    ++pool.waiting;
    while (forks == pool.forks && atomic_load_explicit(&list->working, memory_order_acquire) > 0)
        pthread_cond_wait(&pool.left, &pool.mutex);
    if (pool.waiting > 0) --pool.waiting;
    pthread_mutex_unlock(&pool.mutex);
}

/* Calls run(context, piece, thread) for [0, pieces) on at most `threads` threads and returns when
   all calls have returned. `thread` is 0 for the caller and 1 to threads - 1 for workers. Must not
   be called from inside `run` (workers_inside). */
static void workers_run(int64_t pieces, int threads,
                        void (*run)(void *context, int64_t piece, int thread), void *context) {
    work_list list = {
        .run = run, .context = context, .job = job_current(), .pieces = pieces, .joined = 1};
    list.threads = pieces < threads ? (int)pieces : threads;
    const unsigned forks = pool.forks;
    open_list(&list);
    work_at(&list, 0);
    close_list(&list);
    wait_for(&list, forks);
}

/* At exit and when the library is unloaded: joins the idle workers. If some are executing, another
   thread is still inside the library, which happens only at the end of the process. */
__attribute__((destructor)) static void workers_close(void) {
    if (!threads_outlast_library()) return;
    pthread_mutex_lock(&pool.mutex);
    pool.closed = true;
    const int count = pool.busy || pool.lists ? 0 : pool.count;
    pool.count = count;
    atomic_fetch_add_explicit(&pool.openings, 1, memory_order_relaxed);
    pthread_cond_broadcast(&pool.opened);
    pthread_mutex_unlock(&pool.mutex);
    for (int i = 0; i < count; ++i) pthread_join(pool.workers[i], NULL);
}

static atomic_int requested_threads; /* clamped to the limits; 0: the default */

static int max_threads(void) {
    const int cores = cores_count();
    return cores < PARALLEL_THREADS_MAX / PARALLEL_EACH ? cores * PARALLEL_EACH
                                                        : PARALLEL_THREADS_MAX;
}

static int at_most(long threads) {
    static atomic_bool said;
    const int maximum = max_threads();
    if (threads <= maximum) return (int)threads;
    if (!atomic_exchange(&said, true))
        log_message(LOG_WARNING, "%ld threads requested, using %d: at most %d for each of %d cores",
                    threads, maximum, PARALLEL_EACH, cores_count());
    return maximum;
}

/* Returns the default number of threads. The environment is read once. */
static int usual_threads(void) {
    static atomic_int cached;
    int threads = atomic_load_explicit(&cached, memory_order_relaxed);
    if (threads > 0) return threads;
    const char *text = place_variable("OMP_NUM_THREADS"); /* "4", or "4,2" for nested loops */
    const long named = text ? strtol(text, NULL, 10) : 0;
    const int cores = cores_count();
    threads = named > 0                      ? at_most(named)
              : cores < PARALLEL_THREADS_MAX ? cores
                                             : PARALLEL_THREADS_MAX;
    atomic_store_explicit(&cached, threads, memory_order_relaxed);
    return threads;
}

void parallel_set_threads(int threads) {
    atomic_store_explicit(&requested_threads, threads > 0 ? at_most(threads) : 0,
                          memory_order_relaxed);
}

static _Thread_local int limit; /* of this thread's loops; 0: none */

int parallel_limit(int threads) {
    const int before = limit;
    if (threads > 0) limit = at_most(threads);
    return before;
}

void parallel_unlimit(const int *before) {
    limit = *before;
}

int parallel_threads(void) {
    if (limit > 0) return limit;
    const int threads = atomic_load_explicit(&requested_threads, memory_order_relaxed);
    return threads > 0 ? threads : usual_threads();
}

typedef struct loop {
    parallel_body body;
    void *context;
    int64_t count, grain;
} loop;

static void run_piece(void *context, int64_t piece, int thread) {
    const loop *job = (const loop *)context;
    const int64_t begin = piece * job->grain;
    const int64_t end = job->count - begin > job->grain ? begin + job->grain : job->count;
    job->body(job->context, begin, end, thread);
}

void parallel_for(int64_t count, int64_t grain, parallel_body body, void *context) {
    if (grain < 1) grain = 1;
    loop loop = {body, context, count, grain};
    const int64_t pieces = count / grain + (count % grain > 0);
    const int threads = parallel_threads();
    if (threads > 1 && pieces > 1 && !workers_inside()) {
        workers_run(pieces, threads, run_piece, &loop);
        return;
    }
    for (int64_t piece = 0; piece < pieces; ++piece) run_piece(&loop, piece, workers_thread());
}

typedef struct counted_loop {
    parallel_body body;
    void *context;
    job_control *job;
} counted_loop;

static void run_counted(void *context, int64_t begin, int64_t end, int thread) {
    const counted_loop *counted = (const counted_loop *)context;
    if (job_cancelled(counted->job)) return;
    counted->body(counted->context, begin, end, thread);
    job_advance(counted->job, end - begin);
}

kd_status parallel_for_stage(const char *stage, int64_t count, int64_t grain, parallel_body body,
                             void *context) {
    counted_loop counted = {body, context, job_current()};
    if (!counted.job || workers_inside()) { /* nested: the outer loop counts */
        parallel_for(count, grain, body, context);
        return KD_OK;
    }
    job_stage_begin(counted.job, stage, count);
    parallel_for(count, grain, run_counted, &counted);
    job_stage_end(counted.job);
    return job_check(counted.job);
}
