/* Files: input is read into memory, output goes to a temporary file beside it and is renamed when
   it is whole, so that a failure leaves what was there before. Devices and pipes (/dev/null,
   /dev/stdout) are written as they are, a link's target is replaced.
   Temporary names are NAME.0.tmp, NAME.1.tmp, ...: a writer holds the first one that it can lock,
   so threads and processes that write to one name keep apart, and the next writer takes or removes
   what a killed one has left, since its lock died with it.
   A companion is a file installed beside this code: a program to start, a plug-in to load. */
#ifndef KD_CORE_FILES_FILE_H
#define KD_CORE_FILES_FILE_H
#include "core/status.h"
#include "core/system/files.h"
#include "core/system/paths.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct file_view {
    const char *bytes; /* `count` of them, read-only, not terminated; "" for an empty file */
    size_t count;
    void *mapping; /* the owner's own: memory of the bytes */
} file_view;

/* All of a file, by all threads; what becomes of the file later changes nothing. KD_ERROR_INPUT if
   it cannot be opened, is no regular file, or has changed while it was read; KD_ERROR_MEMORY. */
kd_status file_open(file_view *view, const char *path);
/* file_open's second half, of a file that mapping_find has opened: MAPPING_MADE, MAPPING_FAILED
   with errno, MAPPING_CHANGED. `view` is zeroed on entry. */
mapping_end file_source_read(file_view *view, const mapping_source *from);
/* Whether it can be taken for a regular file. */
bool file_is_there(const char *path);
/* The whole pages of [begin, begin + count) are given back: nobody may read these bytes again. */
void file_release(const char *begin, size_t count);
/* Is told of every file that file_open opens from now on, by any thread; NULL: nobody is. For a
   program that must know what it has read. */
void file_set_witness(void (*seen)(const char *path, file_identity which));
void file_close(file_view *view); /* takes one that was never opened (all zero) */

typedef struct file_output {
    FILE *stream;         /* write here */
    char path[4096];      /* the name it will have */
    char temporary[4112]; /* the name it has until then */
    bool direct;          /* a device or a pipe: no name but its own */
    int lock;             /* a descriptor that holds the temporary's lock; -1: none */
} file_output;

/* KD_ERROR_RUNTIME with the system's reason. */
kd_status file_output_open(file_output *output, const char *path);
/* Flushes, closes, renames. On failure the temporary file is removed. */
kd_status file_output_commit(file_output *output);
void file_output_discard(file_output *output); /* takes one already committed */

/* Folder of `path` joined with `name` ('\\' in name becomes '/', absolute names stay). A new string
   to memory_free, NULL if out of memory. */
char *file_path_beside(const char *path, const char *name);
/* The part of `path` from its last dot on, in place; "" if none. */
const char *file_suffix(const char *path);

typedef struct companion {
    const char *variable; /* of the environment, which names it instead; not in setuid programs */
    const char *name;     /* of the file */
    const char *const *places; /* folders, from the one of this code; each ends with "/" or is "" */
    int place_count;
    place_use use; /* PLACE_READABLE, PLACE_RUNNABLE */
} companion;

/* Writes its path: what the variable says, whether or not it is there; else the first that is there
   beside where this code was loaded from, the shared library or the program; else beside the
   program. False if there is none, or its path is too long. */
bool companion_find(const companion *wanted, char found[PLACE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
