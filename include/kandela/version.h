/* Which Kandela this is. */
#ifndef KANDELA_VERSION_H
#define KANDELA_VERSION_H
#include <kandela/status.h>

/* Of this header, and of the library if both are of one installation; CMake reads them here. */
#define KANDELA_VERSION_MAJOR 0
#define KANDELA_VERSION_MINOR 1
#define KANDELA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

KD_API const char *kd_version(void); /* of the library, "0.1.0": a static string */

#ifdef __cplusplus
}
#endif
#endif
