/* File input and output. Input is read into memory. Output goes to a temporary file in the same
   directory, which is renamed when complete, so that a failure leaves the previous file intact.
   Devices and pipes (/dev/null, /dev/stdout) are written directly; for a symbolic link its target
   is replaced. A program can make FILE_STDOUT stand for standard output.
   Temporary names are NAME.0.tmp, NAME.1.tmp, ...: a writer uses the first one that it can lock, so
   concurrent writers of one name, threads or processes, do not interfere. The system releases the
   lock of a killed writer, and the next writer reuses or removes its file.
   A companion is a file installed next to this code: a program to start or a plug-in to load. */
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
    const char *bytes; /* `count` read-only bytes, not terminated; "" for an empty file */
    size_t count;
    void *mapping; /* private: the memory that holds the bytes */
} file_view;

/* Reads a whole file on all threads; later changes to the file have no effect on the view. Returns
   KD_ERROR_INPUT if the file cannot be opened, is not a regular file or changed while it was read;
   KD_ERROR_MEMORY. */
kd_status file_open(file_view *view, const char *path);
/* Second half of file_open, for a file that mapping_find has opened. Returns MAPPING_MADE,
   MAPPING_FAILED with errno, or MAPPING_CHANGED. `view` must be zeroed. */
mapping_end file_source_read(file_view *view, const mapping_source *source);
/* Returns true if the path refers to a regular file or to a file in the unpacked bundle. */
bool file_exists(const char *path);
/* Sets the case of the ASCII letters of `name` to that of an entry of `folder`: the name itself if
   it is there, else the first in the order of strcmp. Returns false if there is none. */
bool file_name_match(const char *folder, char *name);
/* Releases the whole pages of [begin, begin + count) to the system. The bytes must not be read
   again. */
void file_release(const char *begin, size_t count);
/* Sets a callback that file_open calls, on any thread, for every file that it opens, for programs
   that record their inputs; NULL removes it. */
void file_set_witness(void (*seen)(const char *path, file_identity which));
void file_close(file_view *view); /* accepts a zeroed struct */

typedef struct file_output {
    FILE *stream;         /* the stream to write to */
    char path[4096];      /* final name */
    char temporary[4112]; /* name until commit */
    bool direct;          /* a device or pipe, written without a temporary file */
    bool standard;        /* standard output: `stream` is an unnamed file, copied on commit */
    int lock;             /* descriptor that holds the temporary file's lock; -1: none */
} file_output;

#define FILE_STDOUT "-"
/* From now on the path FILE_STDOUT means standard output, which receives a file when it is
   committed, and everything else that is printed on standard output goes to standard error.
   Repeated calls have no effect. Returns KD_ERROR_USAGE if standard output is a terminal. */
kd_status file_take_stdout(void);
bool file_is_stdout(const char *path); /* false before file_take_stdout */

/* Opens a file for writing. Returns KD_ERROR_RUNTIME with the system's reason on failure. */
kd_status file_output_open(file_output *output, const char *path);
/* Flushes, synchronises, closes and renames the file. On failure the temporary file is removed. */
kd_status file_output_commit(file_output *output);
void file_output_discard(file_output *output); /* accepts an output that is already committed */

/* Joins the directory of `path` with `name`; backslashes in `name` become slashes, and an absolute
   name is returned as it is. The caller frees the result with memory_free; NULL if memory is
   exhausted. */
char *file_path_beside(const char *path, const char *name);
/* Returns the suffix of `path` including its dot, as a pointer into `path`; "" if there is none. */
const char *file_suffix(const char *path);

typedef struct companion {
    const char *variable;      /* environment variable that overrides the path */
    const char *name;          /* file name */
    const char *const *places; /* directories relative to this code, each "" or ending with "/" */
    int place_count;
    place_use use; /* PLACE_READABLE, PLACE_RUNNABLE */
} companion;

/* Writes the path of a companion: the value of the variable (ignored in setuid programs), even if
   no such file exists; else the first match next to the object file that this code was loaded from
   (shared library or program); else next to the program. Returns false if there is none or the path
   is too long. */
bool companion_find(const companion *file, char path[PLACE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
