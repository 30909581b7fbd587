/* Files that one process has read, for others that may not have them: names and bytes in one block.
   Who packs, opens files as always; who unpacks finds them by the same names. */
#ifndef KD_CORE_FILES_FILE_PARCEL_H
#define KD_CORE_FILES_FILE_PARCEL_H
#include "core/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file_parcel {
    char *bytes; /* 64-byte aligned; a record for each file: file_parcel.c */
    uint64_t count;
} file_parcel;

/* From now on the files that file_open opens, by any thread, are noted; each once. */
void file_parcel_pack(void);
/* The end of that; every file is read again into the parcel. Owner. */
kd_status file_parcel_seal(file_parcel *out);
/* From now on file_open finds these files here, and all others on the disk; the parcel stays its
   owner's and stays where it is. NULL: no longer; their views must be closed by then. */
void file_parcel_unpack(const file_parcel *from);
void file_parcel_close(file_parcel *owned); /* takes a zeroed one */

/* For file.c. */
void file_parcel_note(const char *path);
bool file_parcel_find(const char *path, const char **bytes, size_t *count);
bool file_parcel_holds(const char *bytes);

#endif
