/* Files that one writer holds until they get the name that they are for. Descriptors are those of
   <unistd.h>. */
#ifndef KD_CORE_SYSTEM_TEMPORARY_H
#define KD_CORE_SYSTEM_TEMPORARY_H
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
