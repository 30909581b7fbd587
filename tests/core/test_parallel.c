/* Parallel loops: in forked children, nested, from many callers at once, and while the number of
   threads changes. A watchdog ends a hanging test after a minute. */
#include "core/parallel/parallel.h"
#include "core/parallel/tasks.h"
#include "core/status.h"
#include "tests/test.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 5000, CALLERS = 6, ROUNDS = 200, WATCHDOG_SECONDS = 60 };

typedef struct tally {
    atomic_llong sum;
    atomic_int within[PARALLEL_THREADS_MAX],
        shared; /* number of active threads by thread number; how often a number was used twice */
} tally;

static void add_piece(void *context, int64_t begin, int64_t end, int thread) {
    tally *to = (tally *)context;
    if (thread < 0 || thread >= PARALLEL_THREADS_MAX ||
        atomic_fetch_add(&to->within[thread], 1) != 0) {
        atomic_fetch_add(&to->shared, 1);
        return;
    }
    long long sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += i;
    atomic_fetch_add(&to->sum, sum);
    atomic_fetch_sub(&to->within[thread], 1);
}

/* Returns true if a loop runs each item once and no two threads have the same number. */
static bool loop_is_correct(int64_t grain) {
    static _Thread_local tally to;
    memset(&to, 0, sizeof to);
    parallel_for(ITEMS, grain, add_piece, &to);
    return to.sum == (long long)ITEMS * (ITEMS - 1) / 2 && to.shared == 0;
}

/* ThreadSanitizer starts no threads in a child of a process with threads. */
static void skip_under_tsan(void) {
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
    skip();
#endif
#endif
#ifdef __SANITIZE_THREAD__
    skip();
#endif
}

/* Returns the exit code of a child that calls the function; -1 if it hangs. */
static int code_of_child(int (*function)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(WATCHDOG_SECONDS);
        _exit(function());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int loop_in_child(void) {
    return loop_is_correct(1) ? 0 : 1;
}

static int loop_in_grandchild(void) {
    return loop_is_correct(1) && code_of_child(loop_in_child) == 0 ? 0 : 1;
}

static void test_forked_child_creates_its_threads(void **state) {
    (void)state;
    skip_under_tsan();
    parallel_set_threads(4);
    assert_true(loop_is_correct(1));
    for (int i = 0; i < 10; ++i) assert_int_equal(code_of_child(loop_in_child), 0);
    assert_int_equal(code_of_child(loop_in_grandchild), 0);
    assert_true(loop_is_correct(1));
    parallel_set_threads(0);
}

typedef struct calls {
    atomic_bool stop;
    atomic_int wrong, loops;
} calls;

static void *call_loops(void *context) {
    calls *counts = (calls *)context;
    for (int i = 0; i < ROUNDS || !counts->stop; ++i) {
        atomic_fetch_add(&counts->wrong, loop_is_correct(1 + i % 100) ? 0 : 1);
        atomic_fetch_add(&counts->loops, 1);
        if (i >= ROUNDS) sched_yield();
    }
    return NULL;
}

static void test_fork_during_loops_of_other_threads(void **state) {
    (void)state;
    skip_under_tsan();
    calls calls = {false, 0, 0};
    pthread_t callers[2];
    parallel_set_threads(4);
    for (int i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&callers[i], NULL, call_loops, &calls), 0);
    for (int i = 0; i < 20; ++i) assert_int_equal(code_of_child(loop_in_child), 0);
    calls.stop = true;
    for (int i = 0; i < 2; ++i) pthread_join(callers[i], NULL);
    assert_int_equal(calls.wrong, 0);
    parallel_set_threads(0);
}

static void fork_in_piece(void *context, int64_t begin, int64_t end, int thread) {
    atomic_int *failed = (atomic_int *)context;
    (void)end, (void)thread;
    if (begin % 8 == 0 && code_of_child(loop_in_child) != 0) atomic_fetch_add(failed, 1);
}

static void test_fork_inside_a_loop(void **state) {
    (void)state;
    skip_under_tsan();
    atomic_int failed = 0;
    parallel_set_threads(4);
    parallel_for(64, 1, fork_in_piece, &failed);
    assert_int_equal(failed, 0);
    parallel_set_threads(0);
}

/* In the child, this function returns into the loop's code instead of exiting. */
static void fork_and_return(void *context, int64_t begin, int64_t end, int thread) {
    atomic_int *failed = (atomic_int *)context;
    (void)end, (void)thread;
    if (begin % 8 != 0) return;
    const pid_t child = fork();
    if (child == 0) {
        alarm(WATCHDOG_SECONDS);
        atomic_store(failed, -(1 << 20)); /* changes only the child's copy of the counter */
        return;
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) atomic_fetch_add(failed, 1);
}

static void test_forked_child_returns_into_a_loop(void **state) {
    (void)state;
    skip_under_tsan();
    atomic_int failed = 0;
    parallel_set_threads(4);
    parallel_for(32, 1, fork_and_return, &failed);
    if (failed < 0) _exit(0);
    assert_int_equal(failed, 0);
    parallel_set_threads(0);
}

static void test_concurrent_callers(void **state) {
    (void)state;
    calls calls = {true, 0, 0};
    pthread_t callers[CALLERS];
    parallel_set_threads(3);
    for (int i = 0; i < CALLERS; ++i)
        assert_int_equal(pthread_create(&callers[i], NULL, call_loops, &calls), 0);
    for (int i = 0; i < CALLERS; ++i) pthread_join(callers[i], NULL);
    assert_int_equal(calls.wrong, 0);
    assert_int_equal(calls.loops, CALLERS * ROUNDS);
    parallel_set_threads(0);
}

static void test_thread_count_changes_during_loops(void **state) {
    (void)state;
    calls calls = {false, 0, 0};
    pthread_t caller;
    assert_int_equal(pthread_create(&caller, NULL, call_loops, &calls), 0);
    for (int i = 0; i < ROUNDS; ++i) {
        parallel_set_threads(i % 9);
        assert_true(loop_is_correct(7));
    }
    calls.stop = true;
    pthread_join(caller, NULL);
    assert_int_equal(calls.wrong, 0);
    parallel_set_threads(0);
}

static void loop_inside(void *context, int64_t begin, int64_t end, int thread) {
    tally *inner = (tally *)context + begin;
    (void)end, (void)thread;
    for (int i = 0; i < 3; ++i) parallel_for(ITEMS, 10, add_piece, inner);
}

static void test_nested_loops_run_on_one_thread(void **state) {
    (void)state;
    static tally inner[16];
    parallel_set_threads(4);
    parallel_for(16, 1, loop_inside, inner);
    for (int i = 0; i < 16; ++i) {
        assert_int_equal(inner[i].sum, 3LL * ITEMS * (ITEMS - 1) / 2);
        assert_int_equal(inner[i].shared, 0);
    }
    parallel_set_threads(0);
}

static void count_warnings(void *context, log_level level, const char *message) {
    (void)message;
    if (level == LOG_WARNING) ++*(int *)context;
}

static void test_thread_limit_is_logged_once(void **state) {
    (void)state;
    int warnings = 0;
    log_set_sink(count_warnings, &warnings);
    for (int i = 0; i < 3; ++i) {
        parallel_set_threads(1 << 30 >> i);
        assert_in_range(parallel_threads(), 1, cores_count() * PARALLEL_EACH);
        assert_true(loop_is_correct(1));
    }
    assert_int_equal(warnings, 1);
    parallel_set_threads(-1); /* equivalent to 0 */
    const int usual = parallel_threads();
    parallel_set_threads(0);
    assert_int_equal(parallel_threads(), usual);
    log_set_sink(NULL, NULL);
}

static void expect_signals(void *context, int64_t begin, int64_t end, int thread) {
    (void)begin, (void)end;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (thread > 0 && (!sigismember(&blocked, SIGINT) || sigismember(&blocked, SIGSEGV)))
        atomic_fetch_add((atomic_int *)context, 1);
    usleep(100); /* gives the workers time to take part */
}

static void test_workers_block_signals(void **state) {
    (void)state;
    atomic_int wrong = 0;
    parallel_set_threads(4);
    parallel_for(40, 1, expect_signals, &wrong);
    assert_int_equal(wrong, 0);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_false(sigismember(&mask, SIGINT));
    parallel_set_threads(0);
}

static void test_empty_loops_do_nothing(void **state) {
    (void)state;
    tally none = {.sum = 0};
    parallel_for(0, 10, add_piece, &none);
    parallel_for(-5, 1, add_piece, &none);
    assert_int_equal(none.sum, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forked_child_creates_its_threads),
        cmocka_unit_test(test_fork_during_loops_of_other_threads),
        cmocka_unit_test(test_fork_inside_a_loop),
        cmocka_unit_test(test_forked_child_returns_into_a_loop),
        cmocka_unit_test(test_concurrent_callers),
        cmocka_unit_test(test_thread_count_changes_during_loops),
        cmocka_unit_test(test_nested_loops_run_on_one_thread),
        cmocka_unit_test(test_thread_limit_is_logged_once),
        cmocka_unit_test(test_workers_block_signals),
        cmocka_unit_test(test_empty_loops_do_nothing),
    };
    alarm(4 * WATCHDOG_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
