/* Recognises what a file holds by its first bytes, for messages about files whose content does not
   match their name. */
#ifndef KD_CORE_FILES_CONTENT_H
#define KD_CORE_FILES_CONTENT_H
#include "core/status.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct file_content {
    const char *name;   /* noun with article: "a PNG image"; NULL: unknown */
    const char *advice; /* advice as an imperative, or "" */
} file_content;

/* Looks at the first KiB only, except for binary STL, which has no signature but a certain size. */
file_content file_content_of(const char *bytes, size_t count);
/* The same for a file that must be a text: what is not recognised but has a null character is
   "binary data". */
file_content file_content_not_text(const char *bytes, size_t count);
/* Returns KD_ERROR_INPUT "PATH: found a PNG image, expected EXPECTED" if the file is recognised. */
kd_status file_content_refuse(const char *bytes, size_t count, const char *path,
                              const char *expected);

#ifdef __cplusplus
}
#endif
#endif
