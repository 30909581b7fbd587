/* Files as the system offers them, below core/files: reading into memory, the identity of a file,
   temporary files that one writer locks until they are renamed, streams into memory. File
   descriptors are those of <unistd.h>. */
#ifndef KD_CORE_SYSTEM_FILES_H
#define KD_CORE_SYSTEM_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two names mean one file where both numbers are the same. */
typedef struct file_identity {
    uint64_t device, number;
} file_identity;

typedef enum file_kind { FILE_ABSENT, FILE_REGULAR, FILE_FOLDER, FILE_OTHER } file_kind;

/* What a name means, links followed; `out` may be NULL and is set but for FILE_ABSENT. */
file_kind file_identify(file_identity *out, const char *path);

typedef enum mapping_end {
    MAPPING_MADE,
    MAPPING_CANNOT_OPEN,
    MAPPING_NOT_REGULAR,
    MAPPING_FAILED,
    MAPPING_CHANGED /* the file has become another between mapping_find and the end of mapping_read
                     */
} mapping_end;

/* A regular file that is open for reading, and what it was then. */
typedef struct mapping_source {
    intptr_t file; /* a descriptor, or a handle of Windows */
    uint64_t bytes;
    file_identity which;
    int64_t seconds, nanoseconds; /* when it was last written to */
} mapping_source;

/* Opens a regular file. MAPPING_MADE: mapping_drop must follow. Failures leave their reason in
   errno. */
mapping_end mapping_find(mapping_source *out, const char *path);
/* Reserves memory for all of it; *memory is NULL for an empty file, else for mapping_close. */
mapping_end mapping_reserve(void **memory, const mapping_source *from);
/* Reads bytes [begin, begin + count) into the memory; any threads may read parts at one time. What
   another process does to the file meanwhile raises no signal here, unlike a mapping of the file
   itself. False with errno; 0 there: the file ends before. */
bool mapping_read(void *memory, const mapping_source *from, uint64_t begin, uint64_t count);
/* Whether it has the length, and was last written to at the time, that mapping_find found. */
bool mapping_is_unchanged(const mapping_source *from);
void mapping_drop(mapping_source *owned);
void mapping_close(void *memory, uint64_t bytes);

/* Opens for writing and locks; -1 with errno, EWOULDBLOCK where a live writer holds it, or it is
   not ours. A new file that a file system cannot lock is taken as it is. */
int temporary_take(const char *name, bool existing_only);
bool temporary_is_there(const char *name);
int temporary_hold(int descriptor); /* a second one, which keeps the lock; -1 with errno */
int temporary_sync(int descriptor); /* its bytes are on the disk; -1 with errno */
/* Under its new name, in place of what was there; -1 with errno. */
int temporary_rename(const char *name, const char *to);
/* Opens for writing what is no regular file, such as a pipe; -1 with errno: ENXIO for a pipe that
   nobody reads, ENOSPC for a device that takes nothing. */
int temporary_direct(const char *path);
/* If `path` is a link, what it points to in the end, which need not be there, from malloc; NULL if
   it is none, or with ENOMEM, ELOOP. */
char *temporary_target(const char *path);

typedef struct text_stream {
    FILE *stream; /* write here */
    char *text;   /* of text_stream_end: from malloc, the caller's */
    size_t count;
} text_stream;

bool text_stream_open(text_stream *out);
/* Closes the stream; false if something was not written: then there is no text. */
bool text_stream_end(text_stream *of);

#ifdef __cplusplus
}
#endif

#endif
