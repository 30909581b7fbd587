/* Binary files of a header and arrays in their memory layout: replaced atomically when written,
   validated when read. The caller interprets and validates the header.
   Format: the header, the parts without padding, and a 64-bit checksum, which is the XXH3 hash of
   the header, combined in turn with each non-empty part. */
#ifndef KD_CORE_FILES_SECTIONED_FILE_H
#define KD_CORE_FILES_SECTIONED_FILE_H
#include "core/files/file.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct file_part {
    void *bytes;
    uint64_t count; /* in bytes; if 0, `bytes` is ignored */
} file_part;

/* Writes a file. If that fails, returns KD_ERROR_RUNTIME and leaves an existing file unchanged. */
kd_status sectioned_file_write(const char *path, const void *header, size_t header_bytes,
                               const file_part *parts, int part_count);

/* Copies the header. Returns KD_ERROR_INPUT if the file does not begin with `magic` (8 bytes) or is
   too short for header and checksum. `kind` names the expected format in messages: "file of
   points". */
kd_status sectioned_file_header(const file_view *file, const char *path, const char *magic,
                                const char *kind, void *header, size_t header_bytes);

/* Returns KD_ERROR_INPUT unless the file's size equals that of the header, `bytes` of parts and the
   checksum. Must be called before memory is allocated according to the header. */
kd_status sectioned_file_check_size(const file_view *file, const char *path, size_t header_bytes,
                                    uint64_t bytes);

/* Reads the parts. Returns KD_ERROR_INPUT if the size or the checksum is wrong. */
kd_status sectioned_file_read(const file_view *file, const char *path, size_t header_bytes,
                              const file_part *parts, int part_count);

#ifdef __cplusplus
}
#endif
#endif
