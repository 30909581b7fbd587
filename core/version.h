/* Versions of the library and its callers. Public structs grow: each begins with `size_t
   struct_size`, which the caller's header sets. A program that was compiled against another version
   gives a shorter or a longer struct, and the library neither reads nor writes beyond it. New
   fields are added behind the end of the last version's struct, never into its padding.
   Source: Linux, copy_struct_from_user (include/linux/uaccess.h): a tail of zeros asks for nothing. */
#ifndef KD_CORE_VERSION_H
#define KD_CORE_VERSION_H
#include "core/status.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIZED_MOST = 1 << 16 /* bytes: what claims more was never filled */ };

/* Copies as much of ours as the caller's `size` bytes hold, fills the rest with 0 and says `size`
   in the caller's struct_size. Nothing happens if `out` is NULL or has no room for a size. */
void sized_give(void *out, size_t size, const void *ours, size_t our_size);

/* Copies the caller's struct over ours, which holds the defaults: what an older caller does not
   know keeps them. KD_ERROR_USAGE if the size is none, or if a newer caller asks by a field that is
   not known here; `filler` is the function that should have filled it. */
kd_status sized_take(void *ours, size_t our_size, const void *given, const char *filler);

#ifdef __cplusplus
}
#endif

#endif
