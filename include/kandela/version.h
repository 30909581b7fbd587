/* The version of the library.

       #include <kandela/version.h>
       #include <stdio.h>

       void print_versions(void) {
           printf("compiled with %d.%d.%d, running with %s\n", KANDELA_VERSION_MAJOR,
                  KANDELA_VERSION_MINOR, KANDELA_VERSION_PATCH, kd_version());
       } */
#ifndef KANDELA_VERSION_H
#define KANDELA_VERSION_H
#include <kandela/status.h>

/* The version of this header. CMake reads the version of the project from these lines. */
#define KANDELA_VERSION_MAJOR 0
#define KANDELA_VERSION_MINOR 1
#define KANDELA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library that is running, such as "0.1.0"; a static string. */
KD_API const char *kd_version(void);

#ifdef __cplusplus
}
#endif
#endif
