/* Versioned structs of the public interface. Each public struct begins with `size_t struct_size`,
   which the caller's header sets. A program compiled against another version passes a shorter or a
   longer struct, and the library neither reads nor writes beyond its size. New fields are appended
   after the end of the previous version's struct, never placed in its padding.
   Source: Linux, copy_struct_from_user (include/linux/uaccess.h): a tail of zeros requests
           nothing. */
#ifndef KD_CORE_VERSION_H
#define KD_CORE_VERSION_H
#include "core/status.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIZED_MAX = 1 << 16 /* bytes; a larger struct_size is taken as uninitialised */ };

/* Copies `library_struct` to the caller's struct of `size` bytes: truncates it or fills the tail
   with zeros, and sets struct_size to `size`. Does nothing if `out` is NULL or `size` is less than
   sizeof(size_t). */
void sized_give(void *out, size_t size, const void *library_struct, size_t our_size);

/* Copies the caller's struct over `library_struct`, which holds the defaults; fields that an older
   caller does not have keep their defaults. Returns KD_ERROR_USAGE if struct_size is implausible or
   if a newer caller sets a field that this version does not have. `filler` is the function that
   initialises the struct, for the message. */
kd_status sized_take(void *library_struct, size_t our_size, const void *caller_struct,
                     const char *filler);

#ifdef __cplusplus
}
#endif

#endif
