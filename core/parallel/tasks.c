#include "core/parallel/tasks.h"
#include "core/parallel/parallel.h"
#include <assert.h>
#include <string.h>

enum { TASK_OFFERED = 0, TASK_TAKEN = 1, TASK_DONE = 2 };

static void unlink_task(task_pool *pool, task *one) {
    *(one->older ? &one->older->newer : &pool->oldest[one->kind]) = one->newer;
    *(one->newer ? &one->newer->older : &pool->newest[one->kind]) = one->older;
    one->state = TASK_TAKEN;
}

/* Removes and returns the oldest task of a kind up to `maximum`, or NULL. The caller holds the
   mutex. */
static task *take_task(task_pool *pool, task_kind maximum) {
    for (int kind = 0; kind <= (int)maximum; ++kind)
        if (pool->oldest[kind]) {
            task *one = pool->oldest[kind];
            unlink_task(pool, one);
            return one;
        }
    return NULL;
}

/* Executes a task, or waits for a change if there is none. Called with the mutex held, which it
   releases meanwhile. */
static void help(task_pool *pool, task_kind maximum) {
    task *one = take_task(pool, maximum);
    if (!one) {
        ++pool->waiting;
        pthread_cond_wait(&pool->changed, &pool->mutex);
        --pool->waiting;
        return;
    }
    pthread_mutex_unlock(&pool->mutex);
    one->run(one);
    pthread_mutex_lock(&pool->mutex);
    one->state = TASK_DONE;
    if (pool->waiting) pthread_cond_broadcast(&pool->changed);
}

void task_offer(task_pool *pool, task *offered) {
    pthread_mutex_lock(&pool->mutex);
    task **newest = &pool->newest[offered->kind];
    offered->state = TASK_OFFERED;
    offered->newer = NULL;
    offered->older = *newest;
    *(*newest ? &(*newest)->newer : &pool->oldest[offered->kind]) = offered;
    *newest = offered;
    if (pool->waiting) pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

bool task_join(task_pool *pool, task *offered) {
    pthread_mutex_lock(&pool->mutex);
    const bool still_offered = offered->state == TASK_OFFERED;
    if (still_offered) unlink_task(pool, offered);
    while (!still_offered && offered->state != TASK_DONE) help(pool, offered->kind);
    pthread_mutex_unlock(&pool->mutex);
    return !still_offered;
}

static void serve(task_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    while (!pool->closed) help(pool, TASK_BRANCH);
    pthread_mutex_unlock(&pool->mutex);
}

static void close_pool(task_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    pool->closed = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
}

typedef struct first_body {
    task_pool *pool;
    void (*body)(task_pool *pool, void *context);
    void *context;
} first_body;

/* Thread 0 executes the body, the others execute tasks. */
static void run_thread(void *context, int64_t begin, int64_t end, int thread) {
    const first_body *body = (const first_body *)context;
    (void)end, (void)thread;
    if (begin > 0) {
        serve(body->pool);
        return;
    }
    body->body(body->pool, body->context);
    close_pool(body->pool);
}

void task_pool_run(void (*body)(task_pool *pool, void *context), void *context) {
    task_pool pool;
    first_body first_body = {&pool, body, context};
    memset(&pool, 0, sizeof pool);
    pool.threads = parallel_threads();
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.changed, NULL);
    /* one piece per thread; with fewer threads, the remaining pieces find the pool closed */
    parallel_for(pool.threads, 1, run_thread, &first_body);
    pthread_cond_destroy(&pool.changed);
    pthread_mutex_destroy(&pool.mutex);
}

typedef struct each_task {
    task base;
    void (*run)(void *context, int i);
    void *context;
    int i;
} each_task;

static void run_each(task *self) {
    const each_task *one = (const each_task *)(void *)self;
    one->run(one->context, one->i);
}

void task_each(task_pool *pool, int count, void (*run)(void *context, int i), void *context) {
    each_task rest[TASK_EACH_MAX];
    assert(count <= TASK_EACH_MAX);
    const int offered = pool && pool->threads > 1 ? count : 1;
    for (int i = 1; i < offered; ++i) {
        rest[i] = (each_task){{run_each, TASK_STEP, 0, NULL, NULL}, run, context, i};
        task_offer(pool, &rest[i].base);
    }
    for (int i = 0; i < count; ++i)
        if (i == 0 || i >= offered || !task_join(pool, &rest[i].base)) run(context, i);
}
