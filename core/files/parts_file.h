/* Files of a header and arrays, as they lie in memory: written whole or not at all, read with
   distrust.
   The file: the header, the parts without anything between, and a 64-bit checksum: XXH3 of the
   header, combined with each part that is not empty in turn. What the header says is its reader's
   business. */
#ifndef KD_CORE_FILES_PARTS_FILE_H
#define KD_CORE_FILES_PARTS_FILE_H
#include "core/files/file.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct file_part {
    void *bytes;
    uint64_t count; /* of bytes; 0: `bytes` is not looked at */
} file_part;

/* KD_ERROR_RUNTIME, and what was there before stays, if it cannot be written. */
kd_status parts_file_write(const char *path, const void *header, size_t header_bytes,
                           const file_part *parts, int part_count);

/* Copies the header. KD_ERROR_INPUT if the file does not start with `magic` (8 bytes) or is too
   short for header and checksum; `what` says what it should be: "file of points". */
kd_status parts_file_header(const file_view *file, const char *path, const char *magic,
                            const char *what, void *header, size_t header_bytes);

/* KD_ERROR_INPUT if the file has any other size than header, parts of `bytes` in all and checksum.
   To be asked before memory is reserved for what the header promises. */
kd_status parts_file_check_size(const file_view *file, const char *path, size_t header_bytes,
                                uint64_t bytes);

/* Fills the parts. KD_ERROR_INPUT if the size or the checksum is wrong. */
kd_status parts_file_read(const file_view *file, const char *path, size_t header_bytes,
                          const file_part *parts, int part_count);

#ifdef __cplusplus
}
#endif
#endif
