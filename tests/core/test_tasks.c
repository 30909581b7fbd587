/* Each offered task runs exactly once, on any thread, and its results are visible after the
   join. */
#include "core/parallel/parallel.h"
#include "core/parallel/tasks.h"
#include "tests/test.h"

enum { LEAF = 64, EACH = TASK_EACH_MAX };

typedef struct sum_task {
    task base;
    task_pool *pool;
    int64_t begin, end, sum;
    int times; /* number of times it ran */
} sum_task;

static void run_sum(task *self);

static void sum_halves(sum_task *task) {
    const int64_t middle = task->begin + (task->end - task->begin) / 2;
    sum_task left = {{run_sum, TASK_BRANCH, 0, NULL, NULL}, task->pool, task->begin, middle, 0, 0};
    sum_task right = {{run_sum, TASK_BRANCH, 0, NULL, NULL}, task->pool, middle, task->end, 0, 0};
    task_offer(task->pool, &right.base);
    run_sum(&left.base);
    if (!task_join(task->pool, &right.base)) run_sum(&right.base);
    assert_int_equal(left.times + right.times, 2);
    task->sum = left.sum + right.sum;
}

static void add_one(void *context, int i) {
    ++((int *)context)[i];
}

static void run_sum(task *self) {
    sum_task *sum = (sum_task *)(void *)self;
    int counts[EACH] = {0};
    ++sum->times;
    if (sum->end - sum->begin > LEAF) {
        sum_halves(sum);
        return;
    }
    task_each(sum->pool, EACH, add_one, counts);
    for (int i = 0; i < EACH; ++i) assert_int_equal(counts[i], 1);
    for (int64_t i = sum->begin; i < sum->end; ++i) sum->sum += i;
}

static void sum_all(task_pool *pool, void *context) {
    sum_task *all = (sum_task *)context;
    all->pool = pool;
    run_sum(&all->base);
}

static void test_every_task_runs_once(void **state) {
    (void)state;
    for (int threads = 1; threads <= 8; ++threads) {
        parallel_set_threads(threads);
        for (int round = 0; round < 20; ++round) {
            sum_task all = {{run_sum, TASK_BRANCH, 0, NULL, NULL}, NULL, 0, 20000, 0, 0};
            task_pool_run(sum_all, &all);
            assert_int_equal(all.times, 1);
            assert_int_equal(all.sum, 20000LL * 19999 / 2);
        }
    }
    parallel_set_threads(0);
}

static void run_inside(void *context, int64_t begin, int64_t end, int thread) {
    (void)end, (void)thread;
    sum_task *all = (sum_task *)context + begin;
    task_pool_run(sum_all, all);
}

/* If no more threads can be created, the caller runs all tasks. */
static void test_pools_inside_loops(void **state) {
    (void)state;
    sum_task all[4];
    parallel_set_threads(3);
    for (int i = 0; i < 4; ++i)
        all[i] = (sum_task){{run_sum, TASK_BRANCH, 0, NULL, NULL}, NULL, 0, 5000, 0, 0};
    parallel_for(4, 1, run_inside, all);
    for (int i = 0; i < 4; ++i) assert_int_equal(all[i].sum, 5000LL * 4999 / 2);
    parallel_set_threads(0);
}

static void test_without_pool_caller_runs_tasks(void **state) {
    (void)state;
    int counts[EACH] = {0};
    task_each(NULL, EACH, add_one, counts);
    for (int i = 0; i < EACH; ++i) assert_int_equal(counts[i], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_runs_once),
        cmocka_unit_test(test_pools_inside_loops),
        cmocka_unit_test(test_without_pool_caller_runs_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
