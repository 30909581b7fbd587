/* Paths: the location of the program and of the library, path resolution, access checks,
   directories; and environment variables, most of which hold paths. */
#ifndef KD_CORE_SYSTEM_PATHS_H
#define KD_CORE_SYSTEM_PATHS_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLACE_BYTES = 4096 }; /* maximum size of a path, including the terminating zero */

typedef enum place_use { PLACE_EXISTS, PLACE_READABLE, PLACE_RUNNABLE } place_use;

/* Write an absolute path with '/' separators and resolved links; return false if it is unknown or
   too long. The library is the object file from which this code was loaded: the shared library or
   the program. */
bool place_of_program(char out[PLACE_BYTES]);
bool place_of_library(char out[PLACE_BYTES]);
bool place_of_path(char out[PLACE_BYTES], const char *path);
/* Writes the target of a link as stored in it. Returns false if `path` is not a link or the target
   is too long. */
bool place_of_link(char out[PLACE_BYTES], const char *path);
/* Returns true if the path exists, can be read or can be executed; otherwise false with errno. */
bool place_allows(const char *path, place_use use);
/* Returns the value of an environment variable; NULL in setuid and similarly privileged programs.
   All code reads the environment through this function. */
const char *place_variable(const char *name);
/* Creates a directory; succeeds if the name already exists. Returns false with errno on failure. */
bool place_make_folder(const char *path);

#ifdef __cplusplus
}
#endif

#endif
