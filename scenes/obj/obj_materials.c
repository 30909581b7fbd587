#include "core/memory.h"
#include "scenes/obj/mtl.h"
#include "scenes/obj/obj_chunk.h"
#include "scenes/text/paths.h"
#include <stdio.h>

/* Words of one mtllib line that are tried as parts of one name. */
enum { LIBRARY_WORDS = 32 };

typedef struct material_reader {
    const char *path; /* of the OBJ file */
    const obj_options *options;
    mtl_library library;
    problem_list problems;
    char **loaded; /* paths of the libraries so far */
    name_table loaded_names;
    uint32_t loaded_count;
    uint32_t fallback; /* the default material, KD_NONE until it is needed */
} material_reader;

/* Takes the path. A library that was named before is not read again. */
static kd_status library_load(material_reader *from, char *path) {
    const text_span name = {path, strlen(path)};
    kd_status status = KD_OK;
    if (name_table_find(&from->loaded_names, name) == KD_NONE) {
        KD_TRY_GOTO(mtl_load(&from->library, path, from->options));
        KD_TRY_GOTO(KD_GROW(from->loaded, from->loaded_count, from->loaded_count + 1));
        KD_TRY_GOTO(name_table_add(&from->loaded_names, name, from->loaded_count));
        from->loaded[from->loaded_count++] = path;
        path = NULL;
    }
done:
    memory_free(path);
    return status;
}

static int words_split(text_span names, text_span *words, int most) {
    int count = 0;
    uint64_t i = 0;
    while (i < names.count && count < most) {
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

/* The line's names may hold blanks: from each word on, the longest run of words that is a file. */
static kd_status libraries_load(material_reader *from, const obj_event *event) {
    text_span words[LIBRARY_WORDS];
    const int count = words_split(event->name, words, LIBRARY_WORDS);
    for (int i = 0; i < count; ++i) {
        char *path = NULL;
        const char *expected = NULL;
        int last = count;
        while (!path && last-- > i) {
            const char *end = last == count - 1 ? event->name.begin + event->name.count
                                                : words[last].begin + words[last].count;
            const text_span name = {words[i].begin, (uint64_t)(end - words[i].begin)};
            KD_TRY(path_find(from->path, name, &path, &expected));
        }
        if (path) {
            KD_TRY(library_load(from, path));
            i = last;
        } else {
            problem_add(&from->problems, false, "missing-mtl", event->line,
                        "found mtllib \"%.*s\", expected %s", text_shown(words[i]), words[i].begin,
                        expected);
        }
    }
    return KD_OK;
}

static kd_status fallback_take(material_reader *from, uint32_t *index) {
    if (from->fallback == KD_NONE) {
        char name[32] = "default";
        text_span span = {name, strlen(name)};
        for (int i = 2; name_table_find(&from->library.names, span) != KD_NONE; ++i)
            span.count = (uint64_t)snprintf(name, sizeof name, "default-%d", i);
        KD_TRY(mtl_library_add(&from->library, span, &from->fallback));
    }
    *index = from->fallback;
    return KD_OK;
}

/* By its name; without a comment that may stand behind it; else the default material. */
static kd_status material_find(material_reader *from, const obj_event *event, uint32_t *index) {
    text_span name = event->name;
    *index = name_table_find(&from->library.names, name);
    const char *hash = (const char *)memchr(name.begin, '#', name.count);
    if (*index == KD_NONE && hash) {
        name.count = (uint64_t)(hash - name.begin);
        while (name.count && text_is_blank(name.begin[name.count - 1])) --name.count;
        *index = name_table_find(&from->library.names, name);
    }
    if (*index != KD_NONE) return KD_OK;
    problem_add(&from->problems, false, "unknown-material", event->line,
                "found usemtl \"%.*s\", expected a material of the MTL files; the default is used",
                text_shown(event->name), event->name.begin);
    return fallback_take(from, index);
}

static void materials_fill(mesh *into, uint64_t begin, uint64_t end, uint32_t index) {
    for (uint64_t i = begin; i < end; ++i) into->triangle_materials[i] = index;
}

static kd_status triangles_fill(material_reader *from, mesh *into, const obj_chunk *chunks,
                                uint64_t chunk_count) {
    uint64_t begin = 0;
    const obj_event *current = NULL;
    uint32_t index = KD_NONE;
    for (uint64_t c = 0; c <= chunk_count; ++c) {
        const uint64_t events = c < chunk_count ? chunks[c].event_count : 1;
        for (uint64_t e = 0; e < events; ++e) {
            const obj_event *event = c < chunk_count ? &chunks[c].events[e] : NULL;
            if (event && (event->is_library || event->is_group)) continue;
            const uint64_t end = event ? event->triangle : into->triangle_count;
            if (end > begin && !current) KD_TRY(fallback_take(from, &index));
            materials_fill(into, begin, end, index);
            begin = end;
            current = event;
            if (event) KD_TRY(material_find(from, event, &index));
        }
    }
    return KD_OK;
}

static kd_status materials_read(material_reader *from, mesh *into, const obj_chunk *chunks,
                                uint64_t chunk_count) {
    for (uint64_t c = 0; c < chunk_count; ++c)
        for (uint64_t e = 0; e < chunks[c].event_count; ++e)
            if (chunks[c].events[e].is_library) KD_TRY(libraries_load(from, &chunks[c].events[e]));
    KD_TRY(triangles_fill(from, into, chunks, chunk_count));
    into->materials = from->library.materials;
    into->material_count = from->library.count;
    from->library.materials = NULL;
    from->library.count = 0;
    return problem_list_tell(&from->problems, from->path, 0, from->options);
}

kd_status obj_materials(mesh *into, const obj_chunk *chunks, uint64_t chunk_count, const char *path,
                        const obj_options *options) {
    material_reader from = {0};
    from.path = path;
    from.options = options;
    from.fallback = KD_NONE;
    const kd_status status = materials_read(&from, into, chunks, chunk_count);
    for (uint32_t i = 0; i < from.loaded_count; ++i) memory_free(from.loaded[i]);
    memory_free(from.loaded);
    name_table_close(&from.loaded_names);
    problem_list_close(&from.problems);
    mtl_library_close(&from.library);
    return status;
}
