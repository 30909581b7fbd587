/* Finds the files that the files of a scene name: meshes, libraries, textures. An untrusted scene
   must not find out which files exist on the machine, so paths outside the scene's directory are
   not even tested for existence unless the user allows it. */
#ifndef KD_SCENES_TEXT_PATHS_H
#define KD_SCENES_TEXT_PATHS_H
#include "core/status.h"
#include "scenes/text/text.h"

/* While a scope is active in this thread, the directory of `file` is the root of all paths;
   without a scope it is the directory of the file that contains the path. Scopes nest. `file` is
   borrowed. */
typedef struct path_scope {
    const char *file;
    bool allow_outside;
    const struct path_scope *before;
} path_scope;

void path_scope_begin(path_scope *scope, const char *file, bool allow_outside);
void path_scope_end(const path_scope *scope);

/* Returns true if the file `other_path` may refer to `name`: with symbolic links resolved, the path
   stays in the scene's directory or below, or the scope allows all paths. The result does not
   depend on anything outside the directory. */
bool path_is_allowed(const char *other_path, const char *name);

typedef struct path_found {
    char *path;       /* freed by memory_free by the caller; NULL: no regular file has been found */
    const char *name; /* the part of `path` after the directory of the other file */
    bool is_other;    /* `name` is not what was written: report it */
    const char *expected; /* a description of the expected file, for an error message */
} path_found;

/* Finds `name` relative to the directory of the file `other_path`. "\ " is a blank in the name; any
   other backslash separates directories; blanks, quotes and "file://" around it are removed. If
   that file does not exist or is not allowed, tries the name in other case (of ASCII letters), then
   without its drive, leading slash and first directories, which may be those of another machine,
   then with %20 and the like decoded. May return KD_ERROR_MEMORY. */
kd_status path_find(const char *other_path, text_span name, path_found *out);

#endif
