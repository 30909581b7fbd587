/* Fork-join tasks: a thread offers a task and continues; another thread steals it if one is idle,
   otherwise the offering thread executes it when it joins.
   Idea: an offer is cheap until it is stolen, so even small tasks may be offered. Threads steal the
         oldest task, which in a recursion is the largest. A thread that joins a stolen task
         executes other tasks until that one is done.
   Source: the laziness of Mohr, Kranz and Halstead 1991, "Lazy task creation". */
#ifndef KD_CORE_PARALLEL_TASKS_H
#define KD_CORE_PARALLEL_TASKS_H
#include <pthread.h>
#include <stdbool.h>

typedef enum task_kind {
    TASK_STEP = 0,  /* short, and a thread may be waiting for it: taken first */
    TASK_BRANCH = 1 /* long: a thread that is joining a step does not take it */
} task_kind;
enum { TASK_KINDS = 2, TASK_EACH_MAX = 16 };

/* Owned by the caller. Must stay at its address until it has been joined. */
typedef struct task {
    void (*run)(struct task *self);
    task_kind kind;
    int state; /* private to the pool */
    struct task *older, *newer;
} task;

typedef struct task_pool {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    task *oldest[TASK_KINDS], *newest[TASK_KINDS];
    int threads, waiting;
    bool closed;
} task_pool;

/* Calls `body` on the calling thread with a pool whose tasks the other threads execute until `body`
   returns. */
void task_pool_run(void (*body)(task_pool *pool, void *context), void *context);

void task_offer(task_pool *pool, task *offered);
/* Returns true once another thread has executed the task. Returns false if none has taken it; the
   caller then executes it itself, and no other thread will. */
bool task_join(task_pool *pool, task *offered);

/* Calls run(context, i) for i in [0, count), count at most TASK_EACH_MAX, concurrently if threads
   are idle; serially if `pool` is NULL. */
void task_each(task_pool *pool, int count, void (*run)(void *context, int i), void *context);

#endif
