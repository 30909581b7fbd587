/* Shared by the fuzz targets: an input as a file that is private to the process. */
#ifndef KD_TESTS_FUZZ_FUZZ_H
#define KD_TESTS_FUZZ_FUZZ_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Checks a property that must hold, in release builds as well. */
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Returns the path of a file with these bytes, the same path at every call. */
static inline const char *fuzz_file(const uint8_t *bytes, size_t count) {
    static int descriptor = -1;
    static char path[64];
    if (descriptor < 0) {
        descriptor = memfd_create("fuzz", 0);
        FUZZ_REQUIRE(descriptor >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    FUZZ_REQUIRE(ftruncate(descriptor, 0) == 0);
    FUZZ_REQUIRE(pwrite(descriptor, bytes, count, 0) == (ssize_t)count);
    return path;
}

#endif
