/* Files that a scene's files name: meshes, libraries, textures. A scene that a stranger wrote must
   not learn which files this machine has, so what lies outside the scene's folder is not asked for
   unless the user allows it. */
#ifndef KD_SCENES_TEXT_PATHS_H
#define KD_SCENES_TEXT_PATHS_H
#include "core/status.h"
#include "scenes/text/text.h"

/* While a scene is read by this thread, the folder of its own file is the outermost one; without a
   scope that of the file which names another. Scopes nest. `file` is borrowed. */
typedef struct path_scope {
    const char *file;
    bool allow_outside;
    const struct path_scope *before;
} path_scope;

void path_scope_begin(path_scope *of, const char *file, bool allow_outside);
void path_scope_end(const path_scope *of);

/* Whether the file `beside` may name `name`: it stays in the scene's folder or below it, with links
   resolved, or the scope allows all. The answer does not depend on what is outside. */
bool path_is_allowed(const char *beside, const char *name);

/* The file of that name beside the file `beside`, or, where the name has folders that are not here
   (those of the machine it was written on) or not allowed, its last part there. `\ ` is a blank in
   the name, any other backslash parts folders. *found: a string to memory_free, NULL if there is no
   such regular file; *expected then says for a message what was. KD_ERROR_MEMORY. */
kd_status path_find(const char *beside, text_span name, char **found, const char **expected);

#endif
