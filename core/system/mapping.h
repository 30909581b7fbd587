/* Files read into memory of their own, and which file a name means. */
#ifndef KD_CORE_SYSTEM_MAPPING_H
#define KD_CORE_SYSTEM_MAPPING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#ifdef __cplusplus
}
#endif
#endif
