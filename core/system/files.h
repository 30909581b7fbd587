/* File operations of the operating system, on which core/files is built: reading a file into
   memory, file identity, temporary files that are locked by their writer until they are renamed,
   and text streams in memory. File descriptors are those of <unistd.h>. */
#ifndef KD_CORE_SYSTEM_FILES_H
#define KD_CORE_SYSTEM_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two paths refer to the same file if both numbers are equal. */
typedef struct file_identity {
    uint64_t device, number;
} file_identity;

typedef enum file_kind { FILE_ABSENT, FILE_REGULAR, FILE_FOLDER, FILE_OTHER } file_kind;

/* Returns the kind of file that `path` refers to, following links. Unless the result is
   FILE_ABSENT, sets *out; `out` may be NULL. */
file_kind file_identify(file_identity *out, const char *path);

/* Calls `seen` with the name of each entry of the folder `path`, in any order. */
void folder_visit(const char *path, void (*seen)(void *context, const char *name), void *context);

typedef enum mapping_end {
    MAPPING_MADE,
    MAPPING_CANNOT_OPEN,
    MAPPING_NOT_REGULAR,
    MAPPING_FAILED,
    MAPPING_CHANGED /* the file was modified between mapping_find and mapping_is_unchanged */
} mapping_end;

/* A regular file opened for reading, with its state at that time. */
typedef struct mapping_source {
    intptr_t file; /* a descriptor, or a HANDLE on Windows */
    uint64_t bytes;
    file_identity identity;
    int64_t seconds, nanoseconds; /* time of the last modification */
} mapping_source;

/* Opens a regular file. After MAPPING_MADE the caller must call mapping_drop; other results leave
   the reason in errno. */
mapping_end mapping_find(mapping_source *out, const char *path);
/* Allocates memory for the whole file, which the caller releases with mapping_close; *memory is
   NULL for an empty file. */
mapping_end mapping_reserve(void **memory, const mapping_source *source);
/* Reads bytes [begin, begin + count) into the memory. Threads may read different ranges
   concurrently. Unlike a memory mapping of the file, this raises no signal if another process
   truncates the file. On failure returns false with errno; errno 0 means that the file is too
   short. */
bool mapping_read(void *memory, const mapping_source *source, uint64_t begin, uint64_t count);
/* Returns true if the file still has the length and the modification time that mapping_find
   recorded. */
bool mapping_is_unchanged(const mapping_source *source);
void mapping_drop(mapping_source *owned);
void mapping_close(void *memory, uint64_t bytes);

/* Opens a file for writing and locks it. Returns -1 with errno on failure; EWOULDBLOCK means that a
   live writer holds the lock or that the file belongs to another user. On a file system without
   locks a newly created file is accepted unlocked. */
int temporary_take(const char *name, bool existing_only);
bool temporary_exists(const char *name);
int temporary_hold(int descriptor); /* returns a duplicate, which keeps the lock */
int temporary_sync(int descriptor); /* flushes the file to disk; -1 with errno */
/* Renames the file, replacing an existing one; returns -1 with errno on failure. */
int temporary_rename(const char *name, const char *to);
/* Opens something other than a regular file, such as a pipe, for writing. Returns -1 with errno on
   failure: ENXIO for a pipe without a reader, ENOSPC for a device that is always full. */
int temporary_direct(const char *path);
/* Returns a new descriptor of standard output, for binary data; what is printed there from now on
   goes to standard error. Returns -1 with errno on failure. */
int stdout_take(void);
bool stdout_is_terminal(void);
/* Returns the final target of the link `path`, which need not exist, in memory from malloc. Returns
   NULL if `path` is not a link, and on failure with errno ENOMEM or ELOOP. */
char *temporary_target(const char *path);

typedef struct text_stream {
    FILE *stream; /* the stream to write to */
    char *text;   /* set by text_stream_end; from malloc, owned by the caller */
    size_t count;
} text_stream;

bool text_stream_open(text_stream *out);
/* Closes the stream. Returns false, without a text, if a write failed. */
bool text_stream_end(text_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
