/* Runs a function on a thread with the smallest stack that the public headers allow, and measures
   how much of the stack was used. */
#ifndef KD_TESTS_API_SMALL_STACK_H
#define KD_TESTS_API_SMALL_STACK_H
#include "tests/test.h"
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_STACK = 128 << 10, STACK_PAINT = 0x5a, STACK_GUARD = 4 << 20 };

/* Calls `run` on a thread with SMALL_STACK bytes, plus what this system's threads need for
   themselves (descriptor, signal frames); the pages below the stack are inaccessible. Returns the
   bytes used. */
static inline size_t small_stack_call(void *(*run)(void *), void *context) {
    const size_t bytes = SMALL_STACK + (size_t)sysconf(_SC_THREAD_STACK_MIN);
    char *all =
        (char *)mmap(NULL, STACK_GUARD + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    char *stack = all + STACK_GUARD;
    assert_int_equal(mprotect(stack, bytes, PROT_READ | PROT_WRITE), 0);
    memset(stack, STACK_PAINT, bytes);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    size_t unused = 0;
    while (unused < bytes && stack[unused] == STACK_PAINT) ++unused;
    assert_int_equal(munmap(all, STACK_GUARD + bytes), 0);
    return bytes - unused;
}

#endif
