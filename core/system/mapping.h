/* Files mapped into memory, and which file a name means. */
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
    MAPPING_FAILED
} mapping_end;

/* Maps a regular file for reading; *mapping is NULL for an empty one, else for mapping_close.
   Failures leave their reason in errno. */
mapping_end mapping_open(void **mapping, uint64_t *bytes, file_identity *which, const char *path);
void mapping_close(void *mapping, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
