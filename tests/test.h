/* Included by every test: cmocka with the headers it requires, and the paths of test data. */
#ifndef KD_TESTS_TEST_H
#define KD_TESTS_TEST_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka requires setjmp.h, stdarg.h, stddef.h and stdint.h */
#include <cmocka.h>

enum {
    TEST_SKIPPED = 77
}; /* exit code of a skipped test: something that it needs is missing on this machine */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_HAS_SANITIZER 1
#endif
#endif
#ifndef TEST_HAS_SANITIZER
#define TEST_HAS_SANITIZER 0
#endif

/* Sanitizers make a case ten times slower, and their findings depend on the code, not on the
   numbers. Returns true if such a build, which runs one case in `one_in`, skips case `number`.
   KANDELA_TEST_ALL=1 (set by tools/nightly) skips none. */
static inline bool test_leaves_out(uint32_t number, uint32_t one_in) {
    return TEST_HAS_SANITIZER && number % one_in != 0 && !getenv("KANDELA_TEST_ALL");
}

/* As test_leaves_out, in every build. */
static inline bool test_always_leaves_out(uint32_t number, uint32_t one_in) {
    return number % one_in != 0 && !getenv("KANDELA_TEST_ALL");
}

/* Returns the size of a test case: `plain`, or `sanitized` under sanitizers. */
static inline uint32_t test_size(uint32_t plain, uint32_t sanitized) {
    return TEST_HAS_SANITIZER && !getenv("KANDELA_TEST_ALL") ? sanitized : plain;
}

static inline void expect_near(double actual, double expected, double tolerance) {
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g within %g", actual, expected, tolerance);
}

/* Returns the path of a real model (KANDELA_MODELS/name) in a static buffer, or NULL if it is
   missing. */
static inline const char *test_model(const char *name) {
    static char path[4096];
    const char *folder = getenv("KANDELA_MODELS");
    if (!folder || !*folder) return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fclose(file);
    return path;
}

#endif
