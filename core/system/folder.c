#include "core/system/folder.h"
#include <dirent.h>
#include <stddef.h>

void folder_each(const char *folder, void (*see)(void *context, const char *name), void *context) {
    DIR *open = opendir(folder);
    if (!open) return;
    for (const struct dirent *entry = readdir(open); entry; entry = readdir(open))
        see(context, entry->d_name);
    closedir(open);
}
