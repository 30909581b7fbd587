/* Names of files to write, settled and tried before the work that they are for. */
#ifndef KD_TOOLS_OUTPUT_H
#define KD_TOOLS_OUTPUT_H
#include "core/status.h"
#include <stddef.h>

/* The last part of `path` with another suffix: "scenes/box.json" to "box.png"; ':' and other
   characters that file names do without become '-'. */
void output_name(char *out, size_t bytes, const char *path, const char *suffix);

/* Whether a file can be made there: KD_ERROR_RUNTIME if its folder is absent or closed to us, or
   if it is itself a folder. */
kd_status output_check(const char *path);

#endif
