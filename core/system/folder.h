/* What lies in a folder. */
#ifndef KD_CORE_SYSTEM_FOLDER_H
#define KD_CORE_SYSTEM_FOLDER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `see` with each name in it, in no order, "." and ".." among them; none if it cannot be
 * read. */
void folder_each(const char *folder, void (*see)(void *context, const char *name), void *context);

#ifdef __cplusplus
}
#endif
#endif
