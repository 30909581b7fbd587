/* Preloaded into a program: makes allocation number FAIL_ALLOCATION after the start of main() fail
   (1 is the first), and all later ones as well if FAIL_ALL is set; or every allocation of
   FAIL_BYTES bytes. If FAIL_COUNT is set, writes the number of allocations to that file at exit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

typedef int program_main(int, char **, char **);
typedef int start_main(program_main *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                       void *);

static atomic_long made;
static atomic_int counting;
static long chosen, all, chosen_bytes;
static program_main *real_main;

static int fails(size_t bytes) {
    if (!atomic_load(&counting)) return 0;
    const long number = atomic_fetch_add(&made, 1) + 1;
    if (chosen_bytes && bytes == (size_t)chosen_bytes) return 1;
    if (!chosen || (all ? number < chosen : number != chosen)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) {
    return fails(bytes) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    return fails(count * bytes) ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
    return fails(bytes) ? NULL : __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails(bytes) ? NULL : __libc_memalign(alignment, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
    return fails(bytes) ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
    if (fails(bytes)) return ENOMEM;
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

static int counted_main(int argc, char **argv, char **environment) {
    const char *text = getenv("FAIL_ALLOCATION"), *counts = getenv("FAIL_COUNT");
    const char *size = getenv("FAIL_BYTES");
    chosen = text ? atol(text) : 0;
    chosen_bytes = size ? atol(size) : 0;
    all = getenv("FAIL_ALL") != NULL;
    atomic_store(&counting, 1);
    const int status = real_main(argc, argv, environment);
    atomic_store(&counting, 0);
    FILE *file = counts ? fopen(counts, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", atomic_load(&made));
        fclose(file);
    }
    return status;
}

int __libc_start_main(program_main *entry, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader)(void), void *stack) {
    union {
        void *found;
        start_main *call;
    } next;
    next.found = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = entry;
    return next.call(counted_main, argc, argv, init, fini, loader, stack);
}
