/* A bundle of files read by one process, for processes that may not have them: names and contents
   in one block of memory. While a process packs, file_open opens files as usual and records their
   names; in a process that has unpacked a bundle, file_open finds them under the same names. */
#ifndef KD_CORE_FILES_FILE_BUNDLE_H
#define KD_CORE_FILES_FILE_BUNDLE_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file_bundle {
    char *bytes; /* 64-byte aligned; one record per file, see file_bundle.c */
    uint64_t count;
} file_bundle;

/* Starts recording the files that file_open opens on any thread, each once. */
void file_bundle_pack(void);
/* Stops recording and reads every recorded file again into the bundle, which the caller owns. */
kd_status file_bundle_seal(file_bundle *out);
/* Makes file_open look in this bundle before the file system. The bundle is borrowed and must not
   move. NULL ends this; views of its files must be closed first. Not thread-safe: no thread may
   open files meanwhile. */
void file_bundle_unpack(const file_bundle *bundle);
void file_bundle_close(file_bundle *owned); /* accepts a zeroed struct */

/* Internal interface for file.c. */
void file_bundle_note(const char *path);
bool file_bundle_find(const char *path, const char **bytes, size_t *count);
/* Sets the case of the letters of `path` to that of a file in the bundle. Returns false if there is
   none. */
bool file_bundle_match(char *path);
bool file_bundle_holds(const char *bytes);

#endif
