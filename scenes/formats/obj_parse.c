/* Passes 1 and 2 of the OBJ reader: count the elements of a chunk, then parse them into the arrays
   of the mesh. */
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/formats/obj_chunk.h"
#include "scenes/mesh/origin.h"
#include "scenes/text/number.h"

/* Counts the corners of a face: the words up to the end of the line. */
static uint64_t corners_count(text_cursor *cursor) {
    uint64_t corners = 0;
    for (;;) {
        text_skip_blanks(cursor);
        if (text_at_end(cursor)) break;
        ++corners;
        obj_word_skip(cursor);
    }
    text_skip_comment(cursor);
    return corners;
}

void obj_chunk_count(obj_chunk *chunk) {
    text_cursor cursor = {chunk->text.begin, 0};
    const char *end = chunk->text.begin + chunk->text.count;
    obj_counts counts = {0};
    while (cursor.at < end) {
        text_skip_blanks(&cursor);
        switch (obj_statement_read(&cursor)) {
        case STATEMENT_EMPTY: text_skip_comment(&cursor); break;
        case STATEMENT_POSITION:
            ++counts.positions;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_TEXCOORD:
            ++counts.texcoords;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_NORMAL:
            ++counts.normals;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_FACE: {
            const uint64_t corners = corners_count(&cursor);
            ++counts.faces;
            counts.triangles += corners > 2 ? corners - 2 : 0;
            break;
        }
        case STATEMENT_OTHER: text_skip_line(&cursor); break;
        }
    }
    counts.lines = cursor.line;
    chunk->counts = counts;
}

typedef struct parser {
    text_cursor cursor;
    obj_chunk *chunk;
    const obj_target *target;
    /* elements read so far, including all preceding chunks */
    uint64_t positions, texcoords, normals;
    uint64_t triangle; /* index of the next triangle to write */
} parser;

typedef struct corner {
    uint32_t position, texcoord, normal; /* KD_NONE if absent */
} corner;

static void fail_here(parser *parser, const char *expected) {
    text_cursor ahead = parser->cursor;
    const text_span word = text_word(&ahead);
    if (word.count == 0 || *word.begin == '#')
        problem_add(&parser->chunk->problems, true, "malformed", ahead.line,
                    "found the end of the line, expected %s", expected);
    else
        problem_add(&parser->chunk->problems, true, "malformed", ahead.line,
                    "found \"%.*s\", expected %s", text_shown(word), word.begin, expected);
}

/* Reads `minimum` to `maximum` numbers; nothing else may be on the line. Returns how many there
   are. On failure, reports it, sets all values to 0 and returns 0. */
static int numbers_read(parser *parser, float *values, int minimum, int maximum,
                        const char *expected) {
    int count = 0;
    for (;; ++count) {
        text_skip_blanks(&parser->cursor);
        if (text_at_end(&parser->cursor)) break;
        const char *next = count < maximum ? number_float(parser->cursor.at, &values[count]) : NULL;
        if (!next || !(text_ends_word(next) || *next == '#')) {
            fail_here(parser, count < maximum ? expected : "the end of the line");
            memset(values, 0, (size_t)maximum * sizeof *values);
            obj_statement_skip(&parser->cursor);
            return 0;
        }
        parser->cursor.at = next;
    }
    if (count < minimum) {
        fail_here(parser, expected);
        memset(values, 0, (size_t)maximum * sizeof *values);
        count = 0;
    }
    text_skip_comment(&parser->cursor);
    return count;
}

/* Stores the colour of the next position. */
static void colour_note(parser *parser, vec3 colour) {
    obj_chunk *chunk = parser->chunk;
    const uint64_t count = chunk->counts.positions;
    if (!chunk->colours) {
        if (KD_RESERVE(chunk->colours, count) != KD_OK) {
            chunk->out_of_memory = true;
            return;
        }
        for (uint64_t i = 0; i < count; ++i) chunk->colours[i] = vec3_all(NAN);
    }
    chunk->colours[parser->positions - chunk->before.positions] = colour;
}

static void paint_note(parser *parser) {
    obj_chunk *chunk = parser->chunk;
    if (strncmp(parser->cursor.at, "#MRGB ", 6) != 0) return;
    if (KD_RESERVE_NEXT(chunk->paints, chunk->paint_count, chunk->paint_capacity, 64) != KD_OK) {
        chunk->out_of_memory = true;
        return;
    }
    obj_paint *paint = &chunk->paints[chunk->paint_count++];
    paint->at = parser->cursor.at + 6;
    paint->positions = parser->positions;
}

static void position_read(parser *parser) {
    /* x y z, then optionally w, or a colour of 3 or 4 numbers, or both; w and alpha are ignored */
    float values[8] = {0};
    const uint64_t line = parser->cursor.line;
    const int count = numbers_read(parser, values, 3, 8, "a number (v x y z)");
    const float *colour = values + (count == 8 ? 4 : 3);
    if (count >= 6) colour_note(parser, vec3_make(colour[0], colour[1], colour[2]));
    const vec3 position = vec3_make(values[0], values[1], values[2]);
    if (!vec3_is_finite(position)) {
        parser->chunk->bad_position = true;
        problem_add(&parser->chunk->problems, false, "nan", line,
                    "found the vertex %g %g %g, expected finite numbers up to 3.4e38 (floats); its "
                    "faces are skipped",
                    (double)position.x, (double)position.y, (double)position.z);
    }
    parser->target->mesh->positions[parser->positions++] = position;
}

static void texcoord_read(parser *parser) {
    float values[3] = {0};
    const uint64_t line = parser->cursor.line;
    numbers_read(parser, values, 1, 3, "a number (vt u v)");
    const vec2 texcoord = vec2_make(values[0], values[1]);
    if (!(isfinite(texcoord.x) && isfinite(texcoord.y))) {
        parser->chunk->bad_texcoord = true;
        problem_add(
            &parser->chunk->problems, false, "nan", line,
            "found the texture coordinates %g %g, expected finite numbers; they are ignored",
            (double)texcoord.x, (double)texcoord.y);
    }
    parser->target->mesh->texcoords[parser->texcoords++] = texcoord;
}

static void normal_read(parser *parser) {
    float values[3] = {0};
    const uint64_t line = parser->cursor.line;
    numbers_read(parser, values, 3, 3, "a number (vn x y z)");
    const vec3 normal = vec3_make(values[0], values[1], values[2]);
    const vec3 unit = vec3_is_finite(normal) ? vec3_normalize(normal) : vec3_all(0);
    if (vec3_is_zero(unit)) {
        parser->chunk->bad_normal = true;
        if (!vec3_is_finite(normal))
            problem_add(&parser->chunk->problems, false, "nan", line,
                        "found the normal %g %g %g, expected finite numbers; it is ignored",
                        (double)normal.x, (double)normal.y, (double)normal.z);
    }
    parser->target->mesh->normals[parser->normals++] = unit;
}

/* Converts an index of the file: 1-based, or negative, counting back from the last element read.
   If the file has no texture coordinates (or normals) at all, the index is dropped with a warning,
   since some tools remove them. Any other index out of range is a fatal problem. */
static bool index_resolve(parser *parser, int64_t number, uint64_t so_far, uint64_t total,
                          const char *name, bool is_optional, uint64_t line, uint32_t *index) {
    const int64_t absolute = number > 0 ? number - 1 : (int64_t)so_far + number;
    if (number != 0 && absolute >= 0 && (uint64_t)absolute < total) {
        *index = (uint32_t)absolute;
        return true;
    }
    *index = KD_NONE;
    if (number > 0 && total == 0 && is_optional) {
        problem_add(&parser->chunk->problems, false, "index-range", line,
                    "found the %s index %lld in a file without any; it is ignored", name,
                    (long long)number);
        return true;
    }
    if (number < 0)
        problem_add(&parser->chunk->problems, true, "index-range", line,
                    "found the relative %s index %lld, expected -1 to -%llu", name,
                    (long long)number, (unsigned long long)so_far);
    else
        problem_add(&parser->chunk->problems, true, "index-range", line,
                    "found the %s index %lld, expected 1 to %llu", name, (long long)number,
                    (unsigned long long)total);
    return false;
}

/* Parses v, v/vt, v//vn or v/vt/vn. */
static bool corner_read(parser *parser, uint64_t line, corner *read) {
    const obj_counts *totals = &parser->target->totals;
    static const char expected[] = "a corner (v, v/vt, v//vn or v/vt/vn)";
    int64_t position, texcoord = 0, normal = 0;
    bool has_texcoord = false, has_normal = false;
    const char *at = number_integer(parser->cursor.at, &position);
    if (at && *at == '/') {
        const char *next = number_integer(++at, &texcoord);
        has_texcoord = next != NULL;
        if (next) at = next;
        if (*at == '/') {
            next = number_integer(++at, &normal);
            has_normal = next != NULL;
            if (next) at = next;
        }
    }
    if (!at || !(text_ends_word(at) || *at == '#')) {
        fail_here(parser, expected);
        return false;
    }
    parser->cursor.at = at;
    read->texcoord = read->normal = KD_NONE;
    return index_resolve(parser, position, parser->positions, totals->positions, "vertex", false,
                         line, &read->position) &&
           (!has_texcoord || index_resolve(parser, texcoord, parser->texcoords, totals->texcoords,
                                           "texture coordinate", true, line, &read->texcoord)) &&
           (!has_normal || index_resolve(parser, normal, parser->normals, totals->normals, "normal",
                                         true, line, &read->normal));
}

static void triangle_write(parser *parser, const corner *a, const corner *b, const corner *c,
                           uint64_t line) {
    mesh *into = parser->target->mesh;
    const uint64_t at = 3 * parser->triangle;
    assert(parser->triangle < parser->chunk->before.triangles + parser->chunk->counts.triangles);
    into->triangles[at] = a->position;
    into->triangles[at + 1] = b->position;
    into->triangles[at + 2] = c->position;
    if (into->texcoord_indices) {
        into->texcoord_indices[at] = a->texcoord;
        into->texcoord_indices[at + 1] = b->texcoord;
        into->texcoord_indices[at + 2] = c->texcoord;
    }
    if (into->normal_indices) {
        into->normal_indices[at] = a->normal;
        into->normal_indices[at + 1] = b->normal;
        into->normal_indices[at + 2] = c->normal;
    }
    if (parser->target->triangle_lines)
        parser->target->triangle_lines[parser->triangle] =
            (uint32_t)(parser->chunk->before.lines + line + 1);
    ++parser->triangle;
}

static void polygon_note(obj_chunk *chunk, uint64_t first_triangle, uint64_t corner_count) {
    if (KD_RESERVE_NEXT(chunk->polygons, chunk->polygon_count, chunk->polygon_capacity, 64) !=
        KD_OK) {
        chunk->out_of_memory = true;
        return;
    }
    obj_polygon *polygon = &chunk->polygons[chunk->polygon_count++];
    polygon->first_triangle = (uint32_t)first_triangle;
    polygon->corner_count = (uint32_t)corner_count;
}

static void face_read(parser *parser) {
    const uint64_t line = parser->cursor.line, first = parser->triangle;
    corner start = {0}, previous = {0}, next = {0};
    uint64_t count = 0;
    bool any_texcoord = false, any_normal = false;
    for (;;) {
        text_skip_blanks(&parser->cursor);
        if (text_at_end(&parser->cursor)) break;
        if (!corner_read(parser, line, &next)) {
            parser->triangle = first;
            obj_statement_skip(&parser->cursor);
            return;
        }
        any_texcoord = any_texcoord || next.texcoord != KD_NONE;
        any_normal = any_normal || next.normal != KD_NONE;
        if (count == 0)
            start = next;
        else if (count > 1)
            triangle_write(parser, &start, &previous, &next, line);
        previous = next;
        ++count;
    }
    text_skip_comment(&parser->cursor);
    parser->chunk->uses_texcoords = parser->chunk->uses_texcoords || any_texcoord;
    parser->chunk->uses_normals = parser->chunk->uses_normals || any_normal;
    if (count == 0)
        problem_add(&parser->chunk->problems, true, "malformed", line,
                    "found a face without corners, expected three or more");
    else if (count < 3)
        problem_add(&parser->chunk->problems, false, "short-face", line,
                    "found a face of %llu corner%s, expected three or more; it is skipped",
                    (unsigned long long)count, count == 1 ? "" : "s");
    else if (count > 3)
        polygon_note(parser->chunk, first, count);
}

/* Marks the triangles that pass 1 counted but malformed faces did not produce. */
static void unusable_fill(parser *parser) {
    mesh *into = parser->target->mesh;
    const uint64_t end = parser->chunk->before.triangles + parser->chunk->counts.triangles;
    parser->chunk->unusable_triangles = end - parser->triangle;
    for (uint64_t i = 3 * parser->triangle; i < 3 * end; ++i) {
        into->triangles[i] = KD_NONE;
        if (into->texcoord_indices) into->texcoord_indices[i] = KD_NONE;
        if (into->normal_indices) into->normal_indices[i] = KD_NONE;
    }
    for (uint64_t i = parser->triangle; i < end && parser->target->triangle_lines; ++i)
        parser->target->triangle_lines[i] = 0;
}

void obj_chunk_parse(obj_chunk *chunk, const obj_target *target) {
    parser from = {{chunk->text.begin, 0},
                   chunk,
                   target,
                   chunk->before.positions,
                   chunk->before.texcoords,
                   chunk->before.normals,
                   chunk->before.triangles};
    const char *end = chunk->text.begin + chunk->text.count;
    while (from.cursor.at < end) {
        text_skip_blanks(&from.cursor);
        switch (obj_statement_read(&from.cursor)) {
        case STATEMENT_EMPTY:
            if (*from.cursor.at == '#') paint_note(&from);
            text_skip_comment(&from.cursor);
            break;
        case STATEMENT_POSITION: position_read(&from); break;
        case STATEMENT_TEXCOORD: texcoord_read(&from); break;
        case STATEMENT_NORMAL: normal_read(&from); break;
        case STATEMENT_FACE: face_read(&from); break;
        case STATEMENT_OTHER: obj_chunk_other(chunk, &from.cursor, from.triangle); break;
        }
    }
    unusable_fill(&from);
}

/* Advances the cursor past three numbers. Returns false if there are not as many. */
static bool place_read(text_cursor *cursor, double place[3]) {
    for (int axis = 0; axis < 3; ++axis) {
        text_skip_blanks(cursor);
        const char *next = number_double(cursor->at, &place[axis]);
        if (!next) return false;
        cursor->at = next;
    }
    return true;
}

void obj_chunk_recentre(const obj_chunk *chunk, mesh *mesh) {
    text_cursor cursor = {chunk->text.begin, 0};
    const char *end = chunk->text.begin + chunk->text.count;
    uint64_t position = chunk->before.positions;
    while (cursor.at < end) {
        double place[3];
        text_skip_blanks(&cursor);
        switch (obj_statement_read(&cursor)) {
        case STATEMENT_EMPTY: text_skip_comment(&cursor); break;
        case STATEMENT_POSITION:
            if (place_read(&cursor, place))
                mesh->positions[position] = origin_to_local(mesh->origin, place);
            ++position;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_TEXCOORD:
        case STATEMENT_NORMAL:
        case STATEMENT_FACE: obj_statement_skip(&cursor); break;
        case STATEMENT_OTHER: text_skip_line(&cursor); break;
        }
    }
}
