/* Materials of an OBJ file, and statements without geometry. */
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/formats/mtl.h"
#include "scenes/formats/obj_chunk.h"
#include "scenes/text/paths.h"
#include <stdio.h>

/* Skipped silently: names, grouping, points, lines, display hints, tags of other programs. */
static const char *const silent[] = {"o",        "g",      "l",          "p",         "mg",
                                     "vw",       "vp",     "t",          "bevel",     "c_interp",
                                     "d_interp", "lod",    "shadow_obj", "trace_obj", "usemap",
                                     "maplib",   "cstech", "ctech",      "stech"};
/* Skipped with a warning: free-form curves and surfaces, and inclusion of other files. */
static const char *const unsupported[] = {"cstype", "deg",  "bmat", "step", "curv", "curv2", "surf",
                                          "parm",   "trim", "hole", "scrv", "sp",   "end",   "con",
                                          "call",   "csh",  "bsp",  "bzp",  "cdc",  "cdp",   "res"};

static bool is_one_of(text_span word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (text_is(word, words[i])) return true;
    return false;
}

static void event_note(obj_chunk *chunk, const obj_event *event) {
    if (KD_RESERVE_NEXT(chunk->events, chunk->event_count, chunk->event_capacity, 16) != KD_OK) {
        chunk->out_of_memory = true;
        return;
    }
    chunk->events[chunk->event_count++] = *event;
}

/* Reads the name of usemtl. It must be on the same line: it may be empty, or a lone backslash at
   the end of the line (Blender 2.61), which is not a continuation. */
static void material_read(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    while (text_is_blank(*cursor->at)) ++cursor->at;
    const uint64_t line = cursor->line;
    obj_event event = {{cursor->at, 0}, chunk->before.lines + line, triangle, false, false, 0};
    if (!(*cursor->at == '\\' && text_is_line_end(cursor->at[1]))) event.name = text_rest(cursor);
    event_note(chunk, &event);
    text_skip_line(cursor);
}

/* Reads the file names of mtllib up to the end of the line. Continuation lines add more. */
static void library_read(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    const uint64_t line = cursor->line;
    bool any = false;
    for (;;) {
        const obj_event event = {
            text_rest(cursor), chunk->before.lines + cursor->line, triangle, true, false, 0};
        if (event.name.count == 0) break;
        event_note(chunk, &event);
        any = true;
    }
    if (!any)
        problem_add(&chunk->problems, false, "missing-mtl", line,
                    "found mtllib without a name, expected a file");
    text_skip_line(cursor);
}

/* Reads s 1 or s off: the smoothing group of the faces that follow. */
static void group_read(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    obj_event event = {
        {cursor->at, 0}, chunk->before.lines + cursor->line, triangle, false, true, 0};
    text_skip_blanks(cursor);
    const text_span word = text_at_end(cursor) ? event.name : text_word(cursor);
    for (uint64_t i = 0; i < word.count && word.begin[i] >= '0' && word.begin[i] <= '9'; ++i)
        event.group = 10 * event.group + (uint32_t)(word.begin[i] - '0');
    if (text_is_like(word, "on")) event.group = 1;
    event_note(chunk, &event);
    text_skip_line(cursor);
}

void obj_chunk_other(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    const uint64_t line = cursor->line;
    const text_span word = text_word(cursor);
    if (text_is(word, "usemtl")) {
        ++chunk->known;
        material_read(chunk, cursor, triangle);
        return;
    }
    if (text_is(word, "s")) {
        ++chunk->known;
        group_read(chunk, cursor, triangle);
        return;
    }
    if (text_is(word, "mtllib")) {
        ++chunk->known;
        library_read(chunk, cursor, triangle);
        return;
    }
    if (is_one_of(word, silent, sizeof silent / sizeof *silent)) {
        ++chunk->known;
    } else if (is_one_of(word, unsupported, sizeof unsupported / sizeof *unsupported)) {
        ++chunk->known;
        problem_add(&chunk->problems, false, "unsupported", line,
                    "found \"%.*s\", which Kandela does not support; it is ignored",
                    text_shown(word), word.begin);
    } else {
        ++chunk->unknown;
        problem_add(&chunk->problems, false, "unknown-keyword", line,
                    "found \"%.*s\", expected a keyword of OBJ; the line is skipped",
                    text_shown(word), word.begin);
    }
    text_skip_line(cursor);
}

void obj_chunk_close(obj_chunk *chunk) {
    problem_list_close(&chunk->problems);
    memory_free(chunk->events);
    memory_free(chunk->polygons);
    memory_free(chunk->colours);
    memory_free(chunk->paints);
    memset(chunk, 0, sizeof *chunk);
}

/* Maximum number of words of an mtllib statement that are tried as parts of a file name. */
enum { LIBRARY_WORDS = 32 };

typedef struct material_reader {
    const char *path; /* path of the OBJ file */
    const obj_options *options;
    mtl_library library;
    problem_list problems;
    char **loaded; /* paths of all libraries loaded so far */
    name_table loaded_names;
    uint32_t loaded_count;
    uint32_t fallback; /* index of the default material, KD_NONE until it is needed */
} material_reader;

/* Takes ownership of `path`. A library is loaded only once. */
static kd_status library_load(material_reader *reader, char *path) {
    const text_span name = {path, strlen(path)};
    kd_status status = KD_OK;
    if (name_table_find(&reader->loaded_names, name) == KD_NONE) {
        KD_TRY_GOTO(mtl_load(&reader->library, path, reader->options));
        KD_TRY_GOTO(KD_GROW(reader->loaded, reader->loaded_count, reader->loaded_count + 1));
        KD_TRY_GOTO(name_table_add(&reader->loaded_names, name, reader->loaded_count));
        reader->loaded[reader->loaded_count++] = path;
        path = NULL;
    }
done:
    memory_free(path);
    return status;
}

static int words_split(text_span names, text_span *words, int maximum) {
    int count = 0;
    uint64_t i = 0;
    while (i < names.count && count < maximum) {
        while (i < names.count && text_is_blank(names.begin[i])) ++i;
        const uint64_t begin = i;
        while (i < names.count && !(text_is_blank(names.begin[i]) && names.begin[i - 1] != '\\'))
            ++i;
        words[count].begin = names.begin + begin;
        words[count].count = i - begin;
        if (i > begin) ++count;
    }
    return count;
}

/* File names may contain blanks: from each word, tries the longest run of words that names a
   file. */
static kd_status libraries_load(material_reader *reader, const obj_event *event) {
    text_span words[LIBRARY_WORDS];
    const int count = words_split(event->name, words, LIBRARY_WORDS);
    for (int i = 0; i < count; ++i) {
        path_found found = {.path = NULL};
        int last = count;
        if (i && *words[i].begin == '#') break; /* a comment */
        while (!found.path && last-- > i) {
            const char *end = last == count - 1 ? event->name.begin + event->name.count
                                                : words[last].begin + words[last].count;
            const text_span name = {words[i].begin, (uint64_t)(end - words[i].begin)};
            KD_TRY(path_find(reader->path, name, &found));
            if (found.is_other)
                problem_add_once(&reader->problems, "other-name", event->line,
                                 "found mtllib \"%.*s\" as %.400s", text_shown_name(name),
                                 name.begin, found.name);
        }
        if (found.path) {
            KD_TRY(library_load(reader, found.path));
            i = last;
        } else {
            problem_add(&reader->problems, false, "missing-mtl", event->line,
                        "found mtllib \"%.*s\", expected %s", text_shown_name(words[i]),
                        words[i].begin, found.expected);
        }
    }
    return KD_OK;
}

static kd_status fallback_take(material_reader *reader, uint32_t *index) {
    if (reader->fallback == KD_NONE) {
        char name[32] = "default";
        text_span span = {name, strlen(name)};
        for (int i = 2; name_table_find(&reader->library.names, span) != KD_NONE; ++i)
            span.count = (uint64_t)snprintf(name, sizeof name, "default-%d", i);
        KD_TRY(mtl_library_add(&reader->library, span, &reader->fallback));
    }
    *index = reader->fallback;
    return KD_OK;
}

/* Finds the first material whose name, without a trailing comment, is this one. */
static uint32_t commented_find(const mtl_library *library, text_span name) {
    for (uint32_t i = 0; i < library->count; ++i) {
        const text_span whole = {library->materials[i].name, strlen(library->materials[i].name)};
        const text_span bare = text_before_comment(whole);
        if (bare.count == name.count && memcmp(bare.begin, name.begin, name.count) == 0) return i;
    }
    return KD_NONE;
}

/* Finds a material by name, then by the names without trailing comments; adds a copy of the default
   material with this name if there is none. */
static kd_status material_find(material_reader *reader, const obj_event *event, uint32_t *index) {
    const text_span name = text_before_comment(event->name);
    *index = name_table_find(&reader->library.names, event->name);
    if (*index == KD_NONE) *index = name_table_find(&reader->library.names, name);
    if (*index == KD_NONE && name.count) *index = commented_find(&reader->library, name);
    if (*index != KD_NONE) return KD_OK;
    problem_add(&reader->problems, false, "unknown-material", event->line,
                "found usemtl \"%.*s\", expected a material of the MTL files; the default is used",
                text_shown(event->name), event->name.begin);
    if (name.count == 0) return fallback_take(reader, index);
    return mtl_library_add(&reader->library, name, index);
}

static void materials_fill(mesh *mesh, uint64_t begin, uint64_t end, uint32_t index) {
    for (uint64_t i = begin; i < end; ++i) mesh->triangle_materials[i] = index;
}

/* Returns true if a triangle of the range is usable; those of malformed faces are removed later. */
static bool any_usable(const mesh *mesh, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i)
        if (mesh->triangles[3 * i] != KD_NONE) return true;
    return false;
}

static kd_status triangles_fill(material_reader *reader, mesh *mesh, const obj_chunk *chunks,
                                uint64_t chunk_count) {
    uint64_t begin = 0;
    const obj_event *current = NULL;
    uint32_t index = KD_NONE;
    for (uint64_t c = 0; c <= chunk_count; ++c) {
        const uint64_t events = c < chunk_count ? chunks[c].event_count : 1;
        for (uint64_t e = 0; e < events; ++e) {
            const obj_event *event = c < chunk_count ? &chunks[c].events[e] : NULL;
            if (event && (event->is_library || event->is_group)) continue;
            const uint64_t end = event ? event->triangle : mesh->triangle_count;
            if (!current && any_usable(mesh, begin, end)) KD_TRY(fallback_take(reader, &index));
            materials_fill(mesh, begin, end, index);
            begin = end;
            current = event;
            if (event) KD_TRY(material_find(reader, event, &index));
        }
    }
    return KD_OK;
}

/* Warns of clamped textures that a triangle leaves: MTL shows the texture's area alone, Kandela
   repeats the texels of its edges. */
static void clamps_report(material_reader *reader, const mesh *mesh) {
    const float slack = 1e-3f;
    uint32_t seen = KD_NONE; /* the material that was reported */
    bool any = false;
    for (uint32_t i = 0; i < mesh->material_count; ++i) any |= mesh->materials[i].map_clamp;
    for (uint64_t i = 0; any && mesh->texcoord_indices && i < mesh->triangle_count; ++i) {
        const mesh_material *from = &mesh->materials[mesh->triangle_materials[i]];
        for (int k = 0; from->map_clamp && k < 3; ++k) {
            const uint32_t at = mesh->texcoord_indices[3 * i + (uint64_t)k];
            if (at >= mesh->texcoord_count) continue;
            const float u = from->map_scale[0] * mesh->texcoords[at].x + from->map_offset[0];
            const float v = from->map_scale[1] * mesh->texcoords[at].y + from->map_offset[1];
            const bool inside = u >= -slack && u <= 1 + slack && v >= -slack && v <= 1 + slack;
            if (inside || seen == mesh->triangle_materials[i]) continue;
            seen = mesh->triangle_materials[i];
            problem_add_once(&reader->problems, "left-out", 0,
                             "found -clamp on of \"%.60s\" and texture coordinates outside of 0 to "
                             "1, where MTL shows no texture; the texture's edge continues there",
                             from->name);
        }
    }
}

static kd_status materials_read(material_reader *reader, mesh *mesh, const obj_chunk *chunks,
                                uint64_t chunk_count, uint32_t *first_default) {
    for (uint64_t c = 0; c < chunk_count; ++c)
        for (uint64_t e = 0; e < chunks[c].event_count; ++e)
            if (chunks[c].events[e].is_library)
                KD_TRY(libraries_load(reader, &chunks[c].events[e]));
    *first_default = reader->library.count;
    KD_TRY(triangles_fill(reader, mesh, chunks, chunk_count));
    mesh->materials = reader->library.materials;
    mesh->material_count = reader->library.count;
    reader->library.materials = NULL;
    reader->library.count = 0;
    clamps_report(reader, mesh);
    return problem_list_report(&reader->problems, reader->path, 0, reader->options);
}

kd_status obj_materials(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count, const char *path,
                        const obj_options *options, uint32_t *fallback) {
    material_reader from = {0};
    from.path = path;
    from.options = options;
    from.fallback = KD_NONE;
    const kd_status status = materials_read(&from, mesh, chunks, chunk_count, fallback);
    for (uint32_t i = 0; i < from.loaded_count; ++i) memory_free(from.loaded[i]);
    memory_free(from.loaded);
    name_table_close(&from.loaded_names);
    problem_list_close(&from.problems);
    mtl_library_close(&from.library);
    return status;
}
