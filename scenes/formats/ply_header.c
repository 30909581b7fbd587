/* Parses the header of a PLY file: format, elements, properties. */
#include "core/files/content.h"
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/formats/ply_parts.h"
#include "scenes/text/number.h"
#include "scenes/text/text.h"

const uint8_t ply_type_bytes[PLY_TYPES] = {1, 1, 2, 2, 4, 4, 4, 8};

static const struct {
    const char *name;
    ply_type type;
} types[] = {
    {"char", PLY_INT8},   {"uchar", PLY_UINT8},   {"short", PLY_INT16},   {"ushort", PLY_UINT16},
    {"int", PLY_INT32},   {"uint", PLY_UINT32},   {"float", PLY_FLOAT},   {"double", PLY_DOUBLE},
    {"int8", PLY_INT8},   {"uint8", PLY_UINT8},   {"int16", PLY_INT16},   {"uint16", PLY_UINT16},
    {"int32", PLY_INT32}, {"uint32", PLY_UINT32}, {"float32", PLY_FLOAT}, {"float64", PLY_DOUBLE}};

/* Property names of vertex data, as various programs write them. */
static const struct {
    const char *name;
    ply_role role;
} roles[] = {{"x", PLY_X},
             {"y", PLY_Y},
             {"z", PLY_Z},
             {"nx", PLY_NX},
             {"ny", PLY_NY},
             {"nz", PLY_NZ},
             {"u", PLY_U},
             {"v", PLY_V},
             {"s", PLY_U},
             {"t", PLY_V},
             {"texture_u", PLY_U},
             {"texture_v", PLY_V},
             {"red", PLY_RED},
             {"green", PLY_GREEN},
             {"blue", PLY_BLUE},
             {"alpha", PLY_ALPHA},
             {"r", PLY_RED},
             {"g", PLY_GREEN},
             {"b", PLY_BLUE},
             {"diffuse_red", PLY_RED},
             {"diffuse_green", PLY_GREEN},
             {"diffuse_blue", PLY_BLUE}};

/* Property names of faces. */
static const struct {
    const char *name;
    ply_role role;
    bool is_list;
} face_roles[] = {{"vertex_indices", PLY_CORNERS, true},
                  {"vertex_index", PLY_CORNERS, true},
                  {"vertices", PLY_CORNERS, true},
                  {"texcoord", PLY_WEDGES, true},
                  {"texcoords", PLY_WEDGES, true},
                  {"color", PLY_PAINTS, true},
                  {"colors", PLY_PAINTS, true},
                  {"texnumber", PLY_TEXTURE, false},
                  {"red", PLY_RED, false},
                  {"green", PLY_GREEN, false},
                  {"blue", PLY_BLUE, false},
                  {"r", PLY_RED, false},
                  {"g", PLY_GREEN, false},
                  {"b", PLY_BLUE, false},
                  {"diffuse_red", PLY_RED, false},
                  {"diffuse_green", PLY_GREEN, false},
                  {"diffuse_blue", PLY_BLUE, false}};

/* Parses the header line by line. */
typedef struct header_reader {
    ply_header *header;
    problem_list *problems;
    const char *at; /* position in the copy, which is terminated by line ends */
    uint64_t line;
} header_reader;

static text_span word_next(header_reader *reader) {
    text_cursor cursor = {text_blanks_over(reader->at), reader->line};
    const text_span word = text_word(&cursor);
    reader->at = cursor.at;
    return word;
}

static void fail_here(header_reader *reader, text_span span, const char *expected) {
    if (span.count)
        problem_add(reader->problems, true, "malformed", reader->line,
                    "found \"%.*s\", expected %s", text_shown(span), span.begin, expected);
    else
        problem_add(reader->problems, true, "malformed", reader->line,
                    "found the end of the line, expected %s", expected);
}

static bool type_read(header_reader *reader, ply_type *type) {
    const text_span word = word_next(reader);
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (text_is_like(word, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    fail_here(reader, word, "a type (char uchar short ushort int uint float double)");
    return false;
}

static ply_role role_of(const ply_element *element, text_span name, const ply_property *property) {
    const bool has_faces = element->kind == PLY_FACES || element->kind == PLY_STRIPS;
    for (size_t i = 0; i < sizeof face_roles / sizeof *face_roles; ++i)
        if (has_faces && property->is_list == face_roles[i].is_list &&
            text_is_like(name, face_roles[i].name))
            return ply_has(element, face_roles[i].role) ? PLY_NOTHING : face_roles[i].role;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; ++i)
        if (element->kind == PLY_VERTICES && !property->is_list &&
            text_is_like(name, roles[i].name))
            return ply_has(element, roles[i].role) ? PLY_NOTHING : roles[i].role;
    return PLY_NOTHING;
}

static kd_status property_add(header_reader *reader, const ply_property *added) {
    ply_header *into = reader->header;
    KD_TRY(KD_RESERVE_NEXT(into->properties, into->property_count, into->property_capacity, 16));
    into->properties[into->property_count++] = *added;
    ply_element *element = &into->elements[into->element_count - 1];
    ++element->property_count;
    element->roles |= 1u << added->role;
    element->has_lists = element->has_lists || added->is_list;
    element->min_bytes += ply_type_bytes[added->is_list ? added->count_type : added->type];
    return KD_OK;
}

/* Parses: property TYPE NAME, or property list TYPE TYPE NAME */
static kd_status property_read(header_reader *reader) {
    ply_property read = {PLY_INT8, PLY_INT8, PLY_NOTHING, false};
    const char *begin = reader->at;
    if (reader->header->element_count == 0) {
        fail_here(reader, word_next(reader), "an element before its properties");
        return KD_OK;
    }
    read.is_list = text_is_like(word_next(reader), "list");
    if (!read.is_list) reader->at = begin;
    if (read.is_list && !type_read(reader, &read.count_type)) return KD_OK;
    if (!type_read(reader, &read.type)) return KD_OK;
    const text_span name = word_next(reader);
    if (name.count == 0) fail_here(reader, name, "the property's name");
    read.role = role_of(&reader->header->elements[reader->header->element_count - 1], name, &read);
    if ((read.is_list && ply_type_is_real(read.count_type)) ||
        (read.role == PLY_CORNERS && ply_type_is_real(read.type)))
        fail_here(reader, name, "a list of whole numbers, counted by whole numbers");
    return property_add(reader, &read);
}

static ply_kind kind_of(text_span name) {
    if (text_is_like(name, "vertex")) return PLY_VERTICES;
    if (text_is_like(name, "face") || text_is_like(name, "polygon")) return PLY_FACES;
    return text_is_like(name, "tristrips") ? PLY_STRIPS : PLY_OTHER;
}

/* Parses: element NAME COUNT */
static kd_status element_read(header_reader *reader) {
    ply_header *into = reader->header;
    ply_element read;
    int64_t count = 0;
    memset(&read, 0, sizeof read);
    read.name = word_next(reader);
    read.line = reader->line;
    read.kind = kind_of(read.name);
    const text_span word = word_next(reader);
    const char *end = word.count ? number_integer(word.begin, &count) : NULL;
    if (!end || end != word.begin + word.count || count < 0)
        fail_here(reader, word, "the number of its rows (element NAME COUNT)");
    read.count = (uint64_t)count;
    for (uint32_t i = 0; i < into->element_count; ++i)
        if (read.kind == PLY_VERTICES && into->elements[i].kind == PLY_VERTICES)
            fail_here(reader, read.name, "one element vertex");
    KD_TRY(KD_RESERVE_NEXT(into->elements, into->element_count, into->element_capacity, 4));
    read.first = into->property_count;
    into->elements[into->element_count++] = read;
    return KD_OK;
}

static void format_read(header_reader *reader) {
    const text_span form = word_next(reader), version = word_next(reader);
    if (text_is_like(form, "ascii"))
        reader->header->form = PLY_ASCII;
    else if (text_is_like(form, "binary_little_endian"))
        reader->header->form = PLY_LITTLE;
    else if (text_is_like(form, "binary_big_endian"))
        reader->header->form = PLY_BIG;
    else
        fail_here(reader, form, "ascii, binary_little_endian or binary_big_endian");
    if (!text_is(version, "1.0")) fail_here(reader, version, "version 1.0");
}

static kd_status comment_read(header_reader *reader) {
    ply_header *into = reader->header;
    if (!text_is_like(word_next(reader), "TextureFile")) return KD_OK;
    text_cursor cursor = {text_blanks_over(reader->at), reader->line};
    const text_span name = text_rest(&cursor);
    if (name.count == 0) return KD_OK;
    KD_TRY(KD_RESERVE_NEXT(into->textures, into->texture_count, into->texture_capacity, 4));
    into->textures[into->texture_count++] = name;
    return KD_OK;
}

static kd_status line_read(header_reader *reader) {
    const text_span word = word_next(reader);
    if (text_is(word, "format"))
        format_read(reader);
    else if (text_is(word, "element"))
        KD_TRY(element_read(reader));
    else if (text_is(word, "property"))
        KD_TRY(property_read(reader));
    else if (text_is(word, "comment"))
        KD_TRY(comment_read(reader));
    else if (word.count && !text_is(word, "obj_info"))
        fail_here(reader, word, "format, element, property, comment or end_header");
    return KD_OK;
}

/* Returns the size of the header, up to the end of the line end_header; 0 if there is none.
   Accepts only the kind of line end that the first line has, because binary data may contain bytes
   that look like line ends. */
static uint64_t header_bytes(const file_view *view) {
    const char *at = view->bytes, *end = at + view->count;
    while (at < end && !text_is_line_end(*at)) ++at;
    const char last = at + 1 < end && *at == '\r' && at[1] == '\n' ? '\n' : at < end ? *at : '\n';
    for (at = view->bytes; at < end;) {
        const char *line = at, *stop = (const char *)memchr(at, last, (size_t)(end - at));
        if (!stop) break;
        at = stop + 1;
        while (stop > line && (text_is_line_end(stop[-1]) || text_is_blank(stop[-1]))) --stop;
        const text_span text = {line, (uint64_t)(stop - line)};
        if (text_is(text, "end_header")) return (uint64_t)(at - view->bytes);
    }
    return 0;
}

/* Checks that all mandatory parts are present, and finds the vertices. */
static void header_require(header_reader *reader) {
    ply_header *into = reader->header;
    const uint32_t place = 1u << PLY_X | 1u << PLY_Y | 1u << PLY_Z;
    if (into->form == PLY_UNKNOWN)
        problem_add(reader->problems, true, "malformed", reader->line,
                    "found a header without a format, expected one");
    for (uint32_t i = 0; i < into->element_count; ++i) {
        const ply_element *element = &into->elements[i];
        if (element->kind == PLY_VERTICES) {
            into->vertices = element;
            if ((element->roles & place) != place)
                problem_add(reader->problems, true, "malformed", element->line,
                            "found vertices without x, y and z, expected all three");
        } else if (element->kind != PLY_OTHER && element->count && !ply_has(element, PLY_CORNERS)) {
            problem_add(reader->problems, true, "malformed", element->line,
                        "found faces without a list vertex_indices, expected one");
        }
    }
    if (!into->vertices)
        problem_add(reader->problems, true, "malformed", reader->line,
                    "found a header without vertices, expected an element vertex");
}

static kd_status lines_read(header_reader *reader) {
    const char *end = reader->header->text + reader->header->bytes;
    while (reader->at < end) {
        const char *line = reader->at;
        text_cursor cursor = {text_blanks_over(line), 0};
        if (text_is(text_word(&cursor), "end_header")) break;
        if (reader->line > 0) KD_TRY(line_read(reader));
        reader->at = text_line_next(line);
        ++reader->line;
    }
    header_require(reader);
    reader->header->lines = reader->line + 1;
    return KD_OK;
}

kd_status ply_header_read(ply_header *out, const file_view *view, problem_list *problems) {
    memset(out, 0, sizeof *out);
    const char *bytes = view->bytes;
    if (view->count < 5 || memcmp(bytes, "ply", 3) != 0 || !text_ends_word(bytes + 3)) {
        const file_content content = file_content_of(bytes, view->count);
        if (content.name)
            problem_add(problems, true, "not-ply", 0, "found %s, expected PLY%s%s", content.name,
                        *content.advice ? "; " : "", content.advice);
        else
            problem_add(problems, true, "not-ply", 0,
                        "the first line is not \"ply\"; this is not a PLY file");
        return KD_OK;
    }
    out->bytes = header_bytes(view);
    if (out->bytes == 0) {
        problem_add(problems, true, "malformed", 0, "found no line end_header, expected one");
        return KD_OK;
    }
    KD_TRY(KD_RESERVE(out->text, out->bytes + 2));
    memcpy(out->text, bytes, out->bytes);
    memcpy(out->text + out->bytes, "\n\n", 2);
    header_reader reader = {out, problems, out->text, 0};
    KD_TRY(lines_read(&reader));
    return KD_OK;
}

void ply_header_close(ply_header *owned) {
    memory_free(owned->elements);
    memory_free(owned->properties);
    memory_free(owned->textures);
    memory_free(owned->text);
    memset(owned, 0, sizeof *owned);
}
