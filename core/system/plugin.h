/* Shared libraries loaded while the program runs. */
#ifndef KD_CORE_SYSTEM_PLUGIN_H
#define KD_CORE_SYSTEM_PLUGIN_H
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL with plugin_reason. global: what is loaded after it finds its names. */
void *plugin_open(const char *path, bool global);
void *plugin_symbol(void *plugin, const char *name); /* NULL: it has none of that name */
void plugin_close(void *plugin);
const char *
plugin_reason(void); /* why the last call on this thread failed, in the system's words */

/* Tries what a pattern of the shell names, in order, until one is taken; false if none was. Always
   false on Windows. */
bool plugin_try_each(const char *pattern, bool (*take)(const char *path));

#ifdef __cplusplus
}
#endif
#endif
