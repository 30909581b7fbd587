/* Paths: where this program and this library lie, what a path means, the files of a directory; and
   the environment's variables, most of which name paths. */
#ifndef KD_CORE_SYSTEM_PATHS_H
#define KD_CORE_SYSTEM_PATHS_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PLACE_BYTES = 4096 }; /* of a path, with its end */

typedef enum place_use { PLACE_EXISTS, PLACE_READABLE, PLACE_RUNNABLE } place_use;

/* Absolute, with '/', links followed; false if it is not known or too long. Of the library: of this
   code, in whatever file it was loaded from. */
bool place_of_program(char out[PLACE_BYTES]);
bool place_of_library(char out[PLACE_BYTES]);
bool place_of_path(char out[PLACE_BYTES], const char *path);
/* What a link says, as it stands in it; false: `path` is no link, or what it says is too long. */
bool place_of_link(char out[PLACE_BYTES], const char *path);
/* False with a reason in errno. */
bool place_allows(const char *path, place_use use);
/* What the environment says, asked by this function alone; NULL in programs that run with more
 * rights than who started them. */
const char *place_variable(const char *name);
/* Makes a folder, or finds something of that name; false with a reason in errno. */
bool place_make_folder(const char *path);

/* Calls `see` with each name in it, in no order, "." and ".." among them; none if it cannot be
 * read. */
void folder_each(const char *folder, void (*see)(void *context, const char *name), void *context);

#ifdef __cplusplus
}
#endif

#endif
