/* Files that a mesh file names: libraries, textures. */
#ifndef KD_SCENES_TEXT_PATHS_H
#define KD_SCENES_TEXT_PATHS_H
#include "core/status.h"
#include "scenes/text/text.h"

/* The file of that name beside the file `beside`, or, where the name has folders that are not here
   (those of the machine it was written on), its last part there. `\ ` is a blank in the name, any
   other backslash parts folders. *found: a string to memory_free, NULL if there is no such regular
   file. KD_ERROR_MEMORY. */
kd_status path_find(const char *beside, text_span name, char **found);

#endif
