/* A bundle of files read by one process, for processes that may not have them: names and contents
   in one block of memory. While a process packs, file_open opens files as usual and records their
   names; in a process that has unpacked a bundle, file_open finds them under the same names. */
#ifndef KD_CORE_FILES_FILE_PARCEL_H
#define KD_CORE_FILES_FILE_PARCEL_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file_parcel {
    char *bytes; /* 64-byte aligned; one record per file, see file_parcel.c */
    uint64_t count;
} file_parcel;

/* Starts recording the files that file_open opens on any thread, each once. */
void file_parcel_pack(void);
/* Stops recording and reads every recorded file again into the parcel, which the caller owns. */
kd_status file_parcel_seal(file_parcel *out);
/* Makes file_open look in this parcel before the file system. The parcel is borrowed and must not
   move. NULL ends this; views of its files must be closed first. Not thread-safe: no thread may
   open files meanwhile. */
void file_parcel_unpack(const file_parcel *from);
void file_parcel_close(file_parcel *owned); /* accepts a zeroed struct */

/* Internal interface for file.c. */
void file_parcel_note(const char *path);
bool file_parcel_find(const char *path, const char **bytes, size_t *count);
bool file_parcel_holds(const char *bytes);

#endif
