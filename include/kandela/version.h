/* Which Kandela this is. */
#ifndef KANDELA_VERSION_H
#define KANDELA_VERSION_H
#include <kandela/status.h>

#ifdef __cplusplus
extern "C" {
#endif

KD_API const char *kd_version(void); /* "0.1.0": a static string */

#ifdef __cplusplus
}
#endif
#endif
