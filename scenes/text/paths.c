#include "scenes/text/paths.h"
#include "core/files/file.h"
#include "core/files/file_bundle.h"
#include "core/memory.h"
#include "core/system/paths.h"
#include <stdio.h>

/* --- allowed paths ---------------------------------------------------------------------------- */

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

/* --- search ----------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* Decodes %20 and the like in place. Returns false if there is nothing to decode. */
static bool name_decode(char *text) {
    char *to = text;
    bool any = false;
    for (const char *at = text; *at; ++at) {
        const int high = *at == '%' ? hex_digit(at[1]) : -1;
        const int low = high >= 0 ? hex_digit(at[2]) : -1;
        const bool decodes = low >= 0 && 16 * high + low > 31;
        *to++ = decodes ? (char)(16 * high + low) : *at;
        if (decodes) at += 2;
        any = any || decodes;
    }
    *to = '\0';
    return any;
}

static text_span span_trim(text_span name) {
    while (name.count && text_is_blank(name.begin[0])) ++name.begin, --name.count;
    while (name.count && text_is_blank(name.begin[name.count - 1])) --name.count;
    return name;
}

/* Removes blanks and quotes around the name, and the scheme of a file URI. */
static text_span name_bare(text_span name) {
    static const char scheme[] = "file://";
    const size_t length = sizeof scheme - 1;
    name = span_trim(name);
    if (name.count >= 2 && (name.begin[0] == '"' || name.begin[0] == '\'') &&
        name.begin[name.count - 1] == name.begin[0]) {
        ++name.begin;
        name.count -= 2;
        name = span_trim(name);
    }
    if (name.count > length && memcmp(name.begin, scheme, length) == 0) {
        name.begin += length;
        name.count -= length;
    }
    return name;
}

static void name_clean(char *text, text_span name) {
    uint64_t length = 0;
    for (uint64_t i = 0; i < name.count; ++i) {
        const char c = name.begin[i];
        if (c == '\\' && i + 1 < name.count && name.begin[i + 1] == ' ') continue;
        text[length++] = c == '\\' ? '/' : c;
    }
    text[length] = '\0';
}

/* Sets the case of the letters of a relative name to that of a file. A folder is listed only if the
   scene may refer to it. */
static bool case_match(const char *other_path, char *joined, char *name) {
    if (file_bundle_match(joined)) return true;
    for (char *part = name; *part;) {
        char *end = part + strcspn(part, "/");
        const char after = *end;
        const bool is_dots = strspn(part, ".") >= (size_t)(end - part);
        *end = '\0';
        const char first = *part;
        *part = '\0'; /* `joined` and `name` are now the folder of the part */
        const bool lists = *name ? path_is_allowed(other_path, name) : true;
        char folder[PLACE_BYTES];
        snprintf(folder, sizeof folder, "%s", *joined ? joined : ".");
        *part = first;
        const bool matches = is_dots || (lists && file_name_match(folder, part));
        *end = after;
        if (!matches || !path_is_allowed(other_path, name)) return false;
        part = end + strspn(end, "/");
    }
    return true;
}

/* Tries a name as it is, then without regard to case. */
static kd_status name_try(const char *other_path, const char *name, path_found *out) {
    if (!*name || name[strspn(name, "./")] == '\0') return KD_OK;
    if (!path_is_allowed(other_path, name)) {
        out->expected = "a file in the scene's folder (--allow-outside: anywhere)";
        return KD_OK;
    }
    char *joined = file_path_beside(other_path, name);
    if (!joined) return KD_ERROR_MEMORY;
    char *relative = joined + strlen(joined) - strlen(name);
    out->name = relative;
    if (file_exists(joined) ||
        (name[0] != '/' && case_match(other_path, joined, relative) && file_exists(joined)))
        out->path = joined;
    else
        memory_free(joined);
    return KD_OK;
}

/* Tries the whole name, then without its first folders, drive or slash. */
static kd_status names_try(const char *other_path, char *text, path_found *out) {
    const char *at = text;
    while (at && !out->path) {
        KD_TRY(name_try(other_path, at, out));
        const bool has_drive =
            at == text && at[0] && at[1] == ':' && (at[0] | 32) >= 'a' && (at[0] | 32) <= 'z';
        at = has_drive ? at + 2 : strchr(at, '/');
        if (at && *at == '/') at += strspn(at, "/");
    }
    out->is_other = out->path && strcmp(out->name, text) != 0;
    return KD_OK;
}

kd_status path_find(const char *other_path, text_span name, path_found *out) {
    char *text = NULL;
    memset(out, 0, sizeof *out);
    out->expected = "a file that is there";
    const text_span bare = name_bare(name);
    KD_TRY(KD_RESERVE(text, bare.count + 1));
    name_clean(text, bare);
    kd_status status = names_try(other_path, text, out);
    if (status == KD_OK && !out->path && name_decode(text)) {
        status = names_try(other_path, text, out);
        out->is_other = out->path != NULL;
    }
    if (bare.count != span_trim(name).count) out->is_other = out->path != NULL;
    memory_free(text);
    return status;
}
