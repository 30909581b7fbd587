/* Parses MTL files line by line. What a material means is decided in mtl_record.c once all its
   statements are read. */
#include "scenes/formats/mtl.h"
#include "core/files/content.h"
#include "core/files/file.h"
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/text/number.h"
#include "scenes/text/paths.h"

typedef struct mtl_reader {
    text_cursor cursor;
    const char *path;
    mtl_library *library;
    problem_list problems;
    mtl_entry entry;
    uint32_t current; /* index of the entry's material, KD_NONE before the first newmtl */
    bool repeated;    /* the name is a duplicate: parse the entry, then discard it */
    int32_t blender;
    bool glass_reported, exponent_reported, ignored_reported[8];
} mtl_reader;

typedef struct number_key {
    const char *name;
    size_t offset; /* offset of a float or vec3 in mtl_entry */
} number_key;

static const number_key number_keys[] = {
    {"Ns", offsetof(mtl_entry, ns)},       {"Ni", offsetof(mtl_entry, ni)},
    {"illum", offsetof(mtl_entry, illum)}, {"Pr", offsetof(mtl_entry, pr)},
    {"Pm", offsetof(mtl_entry, pm)},       {"d", offsetof(mtl_entry, d)},
    {"Tr", offsetof(mtl_entry, tr)},       {"Ps", offsetof(mtl_entry, ps)},
    {"Pc", offsetof(mtl_entry, pc)},       {"Pcr", offsetof(mtl_entry, pcr)},
    {"aniso", offsetof(mtl_entry, aniso)}, {"anisor", offsetof(mtl_entry, anisor)}};

static const number_key colour_keys[] = {
    {"Ka", offsetof(mtl_entry, ka)}, {"Kd", offsetof(mtl_entry, kd)},
    {"Ks", offsetof(mtl_entry, ks)}, {"Ke", offsetof(mtl_entry, ke)},
    {"Tf", offsetof(mtl_entry, tf)}, {"Kt", offsetof(mtl_entry, tf)}};

typedef struct map_key {
    const char *name;
    mtl_map map;
} map_key;

static const map_key map_keys[] = {{"map_Kd", MTL_MAP_DIFFUSE},
                                   {"map_Ks", MTL_MAP_SPECULAR},
                                   {"map_Ke", MTL_MAP_EMISSION},
                                   {"map_d", MTL_MAP_OPACITY},
                                   {"map_Pr", MTL_MAP_ROUGHNESS},
                                   {"map_Pm", MTL_MAP_METALLIC},
                                   {"map_Bump", MTL_MAP_BUMP},
                                   {"bump", MTL_MAP_BUMP},
                                   {"norm", MTL_MAP_NORMAL},
                                   {"map_norm", MTL_MAP_NORMAL},
                                   {"map_Kn", MTL_MAP_NORMAL},
                                   {"map_opacity", MTL_MAP_OPACITY},
                                   {"map_Ps", MTL_MAP_SHEEN},
                                   {"map_Pc", MTL_MAP_COAT},
                                   {"map_Pcr", MTL_MAP_COAT_ROUGHNESS},
                                   {"map_Ns", MTL_MAP_EXPONENT}};

/* Accepted without a warning, since they have no meaning for physically based rendering. */
static const char *const silent[] = {"Km",     "Pe",      "sharpness", "map_Ka",
                                     "map_ao", "map_aat", "Material"};
/* Unsupported statements that would change the image: reported once per file. */
static const char *const left_out[] = {"refl", "map_refl", "disp", "map_disp", "decal", "map_Tr"};
enum { LEFT_OUT = sizeof left_out / sizeof *left_out };

kd_status mtl_library_add(mtl_library *library, text_span name, uint32_t *index) {
    KD_TRY(KD_RESERVE_NEXT(library->materials, library->count, library->capacity, 8));
    mesh_material *made = &library->materials[library->count];
    mesh_material_default(made);
    KD_TRY(KD_RESERVE(made->name, name.count + 1));
    memcpy(made->name, name.begin, name.count);
    made->name[name.count] = '\0';
    *index = library->count++;
    const text_span owned = {made->name, name.count};
    return name_table_add(&library->names, owned, *index);
}

void mtl_library_close(mtl_library *library) {
    mesh owner = {0};
    owner.materials = library->materials;
    owner.material_count = library->count;
    mesh_close(&owner);
    name_table_close(&library->names);
    memset(library, 0, sizeof *library);
}

static void entry_clear(mtl_entry *entry) {
    for (int i = 0; i < MTL_MAPS; ++i) memory_free(entry->maps[i].path);
    memset(entry, 0, sizeof *entry);
    entry->kd = entry->ks = entry->ke = entry->tf = vec3_all(NAN);
    entry->ka = entry->kd;
    entry->ps = entry->pc = entry->pcr = entry->aniso = entry->anisor = NAN;
    entry->ns = entry->ni = entry->d = entry->tr = entry->illum = entry->pr = entry->pm = NAN;
    for (int i = 0; i < MTL_MAPS; ++i) mtl_texture_default(&entry->maps[i]);
}

static void entry_finish(mtl_reader *reader) {
    mtl_entry *entry = &reader->entry;
    if (reader->current != KD_NONE && !reader->repeated) {
        if (!isnan(entry->d) && !isnan(entry->tr) && fabsf(entry->d - (1 - entry->tr)) > 1e-3f)
            problem_add(&reader->problems, false, "d-against-tr", entry->d_line,
                        "found d %g and Tr %g, expected d = 1 - Tr; d is used", (double)entry->d,
                        (double)entry->tr);
        entry->blender = reader->blender;
        mtl_entry_convert(entry, &reader->library->materials[reader->current]);
        if (!reader->glass_reported && entry->blender &&
            reader->library->materials[reader->current].may_be_glass) {
            problem_add(&reader->problems, false, "perhaps-glass", entry->line,
                        "found a shiny material with Ni %g but no key that marks it as glass "
                        "(Blender writes none); it is rendered opaque, with --glass-by-ni as glass",
                        (double)entry->ni);
            reader->glass_reported = true;
        }
    }
    entry_clear(entry);
}

static kd_status material_begin(mtl_reader *reader, uint64_t line) {
    entry_finish(reader);
    while (text_is_blank(*reader->cursor.at)) ++reader->cursor.at;
    text_span name = {reader->cursor.at, 0};
    if (!text_is_line_end(*reader->cursor.at)) name = text_rest(&reader->cursor);
    if (name.count == 0)
        problem_add(&reader->problems, false, "range", line, "found newmtl without a name");
    reader->entry.line = line;
    reader->current = name_table_find(&reader->library->names, name);
    reader->repeated = reader->current != KD_NONE;
    if (reader->repeated)
        problem_add(&reader->problems, false, "duplicate-material", line,
                    "found a second material \"%.*s\", expected one; the first is used",
                    text_shown(name), name.begin);
    else
        KD_TRY(mtl_library_add(reader->library, name, &reader->current));
    return KD_OK;
}

/* Reads up to `maximum` numbers. Returns false if a word is not a number or not finite, which it
   reports. */
static bool numbers_read(mtl_reader *reader, text_span key, float *values, int *count,
                         int maximum) {
    for (*count = 0; *count < maximum; ++*count) {
        text_skip_blanks(&reader->cursor);
        if (text_at_end(&reader->cursor) && *count > 0) return true;
        const char *next = number_float(reader->cursor.at, &values[*count]);
        if (!next || !(text_ends_word(next) || *next == '#')) {
            const uint64_t line = reader->cursor.line;
            const text_span span = text_word(&reader->cursor);
            problem_add(&reader->problems, true, "malformed", line,
                        "found \"%.*s\" after %.*s, expected a number", text_shown(span),
                        span.begin, text_shown(key), key.begin);
            return false;
        }
        reader->cursor.at = next;
        if (!isfinite(values[*count])) {
            problem_add(&reader->problems, false, "nan", reader->cursor.line,
                        "found %.*s %g, expected a finite number; it is ignored", text_shown(key),
                        key.begin, (double)values[*count]);
            return false;
        }
    }
    text_skip_blanks(&reader->cursor);
    if (!text_at_end(&reader->cursor))
        problem_add(&reader->problems, false, "malformed", reader->cursor.line,
                    "found more after the numbers of %.*s, expected the end of the line",
                    text_shown(key), key.begin);
    return true;
}

static void colour_read(mtl_reader *reader, text_span key, vec3 *colour, uint64_t line) {
    text_skip_blanks(&reader->cursor);
    text_cursor ahead = reader->cursor;
    const text_span form = text_word(&ahead);
    if (text_is(form, "spectral") || text_is(form, "xyz")) {
        problem_add(&reader->problems, false, "unsupported", line,
                    "found %.*s %.*s, expected r g b; it is ignored", text_shown(key), key.begin,
                    text_shown(form), form.begin);
        return;
    }
    float values[3] = {0};
    int count;
    if (!numbers_read(reader, key, values, &count, 3)) return;
    if (count == 2) {
        problem_add(&reader->problems, true, "malformed", line,
                    "found 2 numbers after %.*s, expected 3 (or 1 for grey)", text_shown(key),
                    key.begin);
        return;
    }
    const vec3 read = count == 1 ? vec3_all(values[0]) : vec3_make(values[0], values[1], values[2]);
    const float high = text_is(key, "Ke") ? INFINITY : 1;
    if (!(values[0] >= 0 && values[1] >= 0 && values[2] >= 0 && vec3_largest(read) <= high))
        problem_add(&reader->problems, false, "range", line,
                    "found %.*s %g %g %g, expected numbers from 0%s; they are clamped",
                    text_shown(key), key.begin, (double)read.x, (double)read.y, (double)read.z,
                    high > 1 ? " on" : " to 1");
    *colour = read;
}

static void number_read(mtl_reader *reader, text_span key, float *number, uint64_t line) {
    text_skip_blanks(&reader->cursor);
    if (text_is(key, "d")) { /* d -halo f: opacity by viewing angle; only the factor is used */
        text_cursor ahead = reader->cursor;
        if (text_is(text_word(&ahead), "-halo")) reader->cursor = ahead;
    }
    int count;
    float value;
    if (!numbers_read(reader, key, &value, &count, 1)) return;
    if (text_is(key, "d") || text_is(key, "Tr")) {
        reader->entry.d_line = line;
        if (!(value >= 0 && value <= 1))
            problem_add(&reader->problems, false, "range", line,
                        "found %.*s %g, expected 0 to 1; it is clamped", text_shown(key), key.begin,
                        (double)value);
    }
    if (text_is(key, "illum") && !(value >= 0 && value <= 10 && value == floorf(value)))
        problem_add(&reader->problems, false, "range", line, "found illum %g, expected 0 to 10",
                    (double)value);
    *number = value;
}

static void ignored_report(mtl_reader *reader, text_span key, bool *reported, uint64_t line) {
    if (!*reported)
        problem_add(&reader->problems, false, "left-out", line,
                    "found %.*s, which Kandela does not support; it is ignored", text_shown(key),
                    key.begin);
    *reported = true;
}

static void options_report(mtl_reader *reader, text_span key, mtl_map which, mtl_map_text *read,
                           uint64_t line) {
    for (const char *name; (name = mtl_option_ignored(read, which));)
        problem_add_once(&reader->problems, "left-out", line,
                         "found %s of %.*s, which Kandela does not support; it is ignored", name,
                         text_shown(key), key.begin);
}

static kd_status map_read(mtl_reader *reader, text_span key, mtl_map which, uint64_t line) {
    mtl_map_text read;
    path_found found;
    if (which == MTL_MAP_EXPONENT &&
        !reader->blender) { /* an image of exponents, not of roughness */
        ignored_report(reader, key, &reader->exponent_reported, line);
        return KD_OK;
    }
    if (!mtl_map_read(&reader->cursor, &read)) {
        problem_add(&reader->problems, false, "missing-texture", line,
                    "found %.*s without a name, expected a file", text_shown(key), key.begin);
        return KD_OK;
    }
    KD_TRY(path_find(reader->path, read.name, &found));
    const text_span bare = text_before_comment(read.name);
    if (!found.path && bare.count && bare.count < read.name.count) {
        KD_TRY(path_find(reader->path, bare, &found));
        found.is_other = found.path != NULL;
    }
    if (!found.path) {
        problem_add(&reader->problems, false, "missing-texture", line,
                    "found %.*s \"%.*s\", expected %s; the texture is ignored", text_shown(key),
                    key.begin, text_shown_name(read.name), read.name.begin, found.expected);
        return KD_OK;
    }
    if (found.is_other)
        problem_add_once(&reader->problems, "other-name", line,
                         "found the texture \"%.*s\" as %.400s", text_shown_name(read.name),
                         read.name.begin, found.name);
    options_report(reader, key, which, &read, line);
    read.texture.path = found.path;
    memory_free(reader->entry.maps[which].path);
    reader->entry.maps[which] = read.texture;
    return KD_OK;
}

static void *field(mtl_reader *reader, size_t offset) {
    return (char *)&reader->entry + offset;
}

/* Parses one statement after its keyword. */
static kd_status statement_read(mtl_reader *reader, text_span key, uint64_t line) {
    for (size_t i = 0; i < sizeof number_keys / sizeof *number_keys; ++i)
        if (text_is_like(key, number_keys[i].name)) {
            number_read(reader, key, (float *)field(reader, number_keys[i].offset), line);
            return KD_OK;
        }
    /* ambient light; Blender stores the metallic value here */
    if (text_is_like(key, "Ka") && !reader->blender) return KD_OK;
    for (size_t i = 0; i < sizeof colour_keys / sizeof *colour_keys; ++i)
        if (text_is_like(key, colour_keys[i].name)) {
            colour_read(reader, key, (vec3 *)field(reader, colour_keys[i].offset), line);
            return KD_OK;
        }
    for (size_t i = 0; i < sizeof map_keys / sizeof *map_keys; ++i)
        if (text_is_like(key, map_keys[i].name))
            return map_read(reader, key, map_keys[i].map, line);
    for (size_t i = 0; i < LEFT_OUT; ++i)
        if (text_is_like(key, left_out[i])) {
            ignored_report(reader, key, &reader->ignored_reported[i], line);
            return KD_OK;
        }
    for (size_t i = 0; i < sizeof silent / sizeof *silent; ++i)
        if (text_is_like(key, silent[i])) return KD_OK;
    problem_add(&reader->problems, false, "unknown-keyword", line,
                "found \"%.*s\", expected a keyword of MTL; the line is skipped", text_shown(key),
                key.begin);
    return KD_OK;
}

static kd_status line_read(mtl_reader *reader) {
    text_skip_blanks(&reader->cursor);
    if (text_at_end(&reader->cursor)) {
        text_skip_comment(&reader->cursor);
        return KD_OK;
    }
    const uint64_t line = reader->cursor.line;
    const text_span key = text_word(&reader->cursor);
    if (text_is_like(key, "newmtl"))
        KD_TRY(material_begin(reader, line));
    else if (reader->current == KD_NONE)
        problem_add(&reader->problems, false, "unknown-keyword", line,
                    "found \"%.*s\" before any newmtl, expected newmtl; the line is skipped",
                    text_shown(key), key.begin);
    else
        KD_TRY(statement_read(reader, key, line));
    if (*reader->cursor.at == '#')
        text_skip_comment(&reader->cursor);
    else
        text_skip_line(&reader->cursor);
    return KD_OK;
}

/* Returns the major version of Blender in the first line, at least 2; 0 if another program wrote
   the file. */
static int32_t blender_version(const char *at, const char *end) {
    static const char name[] = "# Blender ";
    if ((size_t)(end - at) < sizeof name || memcmp(at, name, sizeof name - 1) != 0) return 0;
    at += sizeof name - 1;
    if (*at == 'v') ++at;
    int32_t version = 0;
    for (; at < end && *at >= '0' && *at <= '9' && version < 1000; ++at)
        version = 10 * version + (*at - '0');
    return version > 2 ? version : 2;
}

kd_status mtl_load(mtl_library *library, const char *path, const obj_options *options) {
    mtl_reader from = {0};
    file_view view;
    char *text = NULL;
    KD_TRY(file_open(&view, path));
    kd_status status;
    from.path = path;
    from.library = library;
    from.current = KD_NONE;
    entry_clear(&from.entry);
    const char *encoding = text_foreign_encoding(view.bytes, view.count);
    const file_content content = file_content_not_text(view.bytes, view.count);
    if (encoding) {
        problem_add(&from.problems, true, "unreadable", 0, "found %s text, expected UTF-8 or ASCII",
                    encoding);
    } else if (content.name) {
        problem_add(&from.problems, true, "unreadable", 0, "found %s, expected MTL%s%s",
                    content.name, *content.advice ? "; " : "", content.advice);
    } else {
        KD_TRY_GOTO(KD_RESERVE(text, view.count + 2));
        memcpy(text, view.bytes, view.count);
        memcpy(text + view.count, "\n\n", 2);
        from.cursor.at = text + text_bom_bytes(view.bytes, view.count);
        from.blender = blender_version(from.cursor.at, text + view.count);
        while (from.cursor.at < text + view.count) KD_TRY_GOTO(line_read(&from));
        entry_finish(&from);
    }
    KD_TRY_GOTO(problem_list_report(&from.problems, path, 0, options));
done:
    entry_clear(&from.entry);
    problem_list_close(&from.problems);
    memory_free(text);
    file_close(&view);
    return status;
}
