/* What every test includes: cmocka with its prerequisites, and where data lies. */
#ifndef KD_TESTS_TEST_H
#define KD_TESTS_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

enum { TEST_SKIPPED = 77 }; /* exit code: what this test needs is not on this machine */

/* Path of a real model (KANDELA_MODELS/name) in a static buffer, NULL if it is not here. */
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
