#include "scenes/text/paths.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/system/paths.h"
#include <stdio.h>

/* --- what may be read ------------------------------------------------------------------------- */

static _Thread_local const path_scope *current;

void path_scope_begin(path_scope *scope, const char *file, bool allow_outside) {
    scope->file = file;
    scope->allow_outside = allow_outside;
    scope->before = current;
    current = scope;
}

void path_scope_end(const path_scope *scope) {
    current = scope->before;
}

/* Gets the directory of a file with symbolic links resolved and without a trailing '/'; unresolved
   if it does not exist. Returns false if it is too long. */
static bool folder_of(char folder[PLACE_BYTES], const char *file) {
    char written[PLACE_BYTES];
    const char *slash = strrchr(file, '/');
    const int length = slash ? (int)(slash - file) : 1;
    if (length >= PLACE_BYTES) return false;
    snprintf(written, sizeof written, "%.*s", length, slash ? file : ".");
    if (slash == file) snprintf(written, sizeof written, "/");
    if (!place_of_path(folder, written)) memcpy(folder, written, sizeof written);
    const size_t last = strlen(folder) - 1;
    if (folder[last] == '/') folder[last] = '\0';
    return true;
}

/* Returns true if `path` is `folder` or below it, comparing text only; *rest is the remainder. */
static bool begins_with(const char *path, const char *folder, const char **rest) {
    const size_t length = strlen(folder);
    *rest = path + length;
    return strncmp(path, folder, length) == 0 && (**rest == '/' || **rest == '\0');
}

typedef struct path_walk {
    const char *root;
    char at[PLACE_BYTES];   /* current directory, resolved; the root or below */
    char rest[PLACE_BYTES]; /* remaining path */
    int links;
} path_walk;

static bool walk_up(path_walk *walk) {
    if (strlen(walk->at) <= strlen(walk->root)) return false;
    *strrchr(walk->at, '/') = '\0';
    return true;
}

/* Follows the link at `at`: prepends its target to `behind`. */
static bool walk_link(path_walk *walk, const char *link, const char *behind) {
    enum { LINKS_MAX = 40 };
    const char *from = link;
    if (++walk->links > LINKS_MAX || !walk_up(walk)) return false;
    if (link[0] == '/') {
        if (!begins_with(link, walk->root, &from)) return false;
        snprintf(walk->at, sizeof walk->at, "%s", walk->root);
    }
    const size_t length = strlen(from), more = strlen(behind);
    if (length + more + 2 > sizeof walk->rest) return false;
    memmove(walk->rest + length + 1, behind, more + 1); /* `behind` points into walk->rest */
    memcpy(walk->rest, from, length);
    walk->rest[length] = '/';
    return true;
}

/* Resolves the path component by component. Returns false as soon as it leaves the root, before
   accessing anything outside, so that the result does not depend on what exists there. */
static bool walk_stays(path_walk *walk) {
    char link[PLACE_BYTES];
    const char *next = walk->rest;
    while (*(next += strspn(next, "/"))) {
        const size_t length = strcspn(next, "/"), used = strlen(walk->at);
        const char *name = next;
        next += length;
        if (length == 1 && name[0] == '.') continue;
        if (length == 2 && name[0] == '.' && name[1] == '.') {
            if (!walk_up(walk)) return false;
            continue;
        }
        if (used + length + 2 > sizeof walk->at) return false;
        snprintf(walk->at + used, sizeof walk->at - used, "/%.*s", (int)length, name);
        if (!place_of_link(link, walk->at)) continue;
        if (!walk_link(walk, link, next)) return false;
        next = walk->rest;
    }
    return true;
}

bool path_is_allowed(const char *other_path, const char *name) {
    char root[PLACE_BYTES];
    const char *more = name;
    path_walk walk = {.root = root};
    const char *file = current ? current->file : other_path;
    if (current && current->allow_outside) return true;
    if (!folder_of(root, file) || !folder_of(walk.at, other_path)) return false;
    if (!begins_with(walk.at, root, &more)) return false; /* the file itself is outside */
    more = name;
    if (name[0] == '/') {
        const char *slash = strrchr(file, '/');
        char *const written = walk.rest; /* not in use yet; serves as a buffer */
        if (slash && slash - file < PLACE_BYTES) memcpy(written, file, (size_t)(slash - file));
        if (!begins_with(name, root, &more) &&
            !(written[0] == '/' && begins_with(name, written, &more)))
            return false;
        snprintf(walk.at, sizeof walk.at, "%s", root);
    }
    if (snprintf(walk.rest, sizeof walk.rest, "%s", more) >= (int)sizeof walk.rest) return false;
#ifdef _WIN32
    if (strchr(name, ':')) return false; /* drive letters and alternate streams */
#endif
    return walk_stays(&walk);
}

/* --- what is found ---------------------------------------------------------------------------- */

static uint64_t name_clean(char *text, text_span name) {
    uint64_t length = 0;
    for (uint64_t i = 0; i < name.count; ++i) {
        const char c = name.begin[i];
        if (c == '\\' && i + 1 < name.count && name.begin[i + 1] == ' ') continue;
        text[length++] = c == '\\' ? '/' : c;
    }
    text[length] = '\0';
    return length;
}

kd_status path_find(const char *other_path, text_span name, char **out, const char **expected) {
    char *text = NULL;
    *out = NULL;
    *expected = "a file that is there";
    KD_TRY(KD_RESERVE(text, name.count + 1));
    name_clean(text, name);
    const char *last = strrchr(text, '/');
    const char *const tries[2] = {text, last ? last + 1 : NULL};
    kd_status status = KD_OK;
    for (int i = 0; i < 2 && tries[i] && tries[i][0] && !*out; ++i) {
        if (!path_is_allowed(other_path, tries[i])) {
            *expected = "a file in the scene's folder (--allow-outside: anywhere)";
            continue;
        }
        char *joined = file_path_beside(other_path, tries[i]);
        if (!joined) {
            status = KD_ERROR_MEMORY;
            break;
        }
        if (file_exists(joined))
            *out = joined;
        else
            memory_free(joined);
    }
    memory_free(text);
    return status;
}
