/* Work that another thread may take over while this one goes on: offered, and either taken by a
   thread that has nothing to do or done by the one that offered it.
   Idea: an offer costs next to nothing until it is taken, so small ones may be made often; the
   largest piece is the one that was offered first, and that is the one that is taken. Who waits for
   a task that is being done helps with others meanwhile.
   Source: the laziness of Mohr, Kranz and Halstead 1991, "Lazy task creation". */
#ifndef KD_CORE_PARALLEL_TASKS_H
#define KD_CORE_PARALLEL_TASKS_H
#include <pthread.h>
#include <stdbool.h>

typedef enum task_kind {
    TASK_STEP = 0,  /* short; somebody waits for it: taken first */
    TASK_BRANCH = 1 /* long; whoever waits for a step takes none */
} task_kind;
enum { TASK_KINDS = 2, TASK_EACH_MOST = 16 };

/* The caller's memory, which stays where it is until it was joined. */
typedef struct task {
    void (*run)(struct task *self);
    task_kind kind;
    int state; /* the pool's */
    struct task *older, *newer;
} task;

typedef struct task_pool {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    task *oldest[TASK_KINDS], *newest[TASK_KINDS];
    int threads, waiting;
    bool closed;
} task_pool;

/* Calls `body` on this thread, with the pool whose tasks all others serve meanwhile. */
void task_pool_run(void (*body)(task_pool *pool, void *context), void *context);

void task_offer(task_pool *pool, task *offered);
/* True: another thread has done it. False: none will, do it now. */
bool task_join(task_pool *pool, task *offered);

/* Calls run(context, i) for i in [0, count), at most TASK_EACH_MOST, side by side where threads are
   idle; one after the other if `pool` is NULL. */
void task_each(task_pool *pool, int count, void (*run)(void *context, int i), void *context);

#endif
