/* Converts faces and strips of a PLY file to triangles. */
#include "core/memory.h"
#include "scenes/formats/ply_parts.h"
#include "scenes/mesh/mesh_cleanup.h"

typedef struct face_writer {
    const ply_file *file;
    ply_piece *piece;
    const ply_target *target;
    uint64_t triangle, last; /* next triangle to write; end of the piece's range */
    bool has_extras;         /* extras_write has something to write */
    vec3 *points;            /* buffers for the largest polygon so far */
    uint32_t *cut;
    uint64_t capacity;
} face_writer;

/* Writes the texture coordinates of corners `which` of the row. */
static void wedges_write(face_writer *writer, const ply_row *row, const uint32_t which[3]) {
    mesh *into = writer->target->mesh;
    const bool given = row->corner_count && row->wedges.count == 2 * row->corner_count;
    for (uint64_t k = 0; k < 3; ++k) {
        const uint64_t at = 3 * writer->triangle + k;
        vec2 uv = vec2_make(0, 0);
        if (given)
            uv = vec2_make(row->wedges.items[2 * which[k]], row->wedges.items[2 * which[k] + 1]);
        if (!isfinite(uv.x) || !isfinite(uv.y)) writer->piece->bad_texcoord = true;
        into->texcoords[at] = uv;
        into->texcoord_indices[at] = given ? (uint32_t)at : KD_NONE;
    }
}

/* Writes the colours of corners `which` of the row; none, which is white, if the list has neither
   three nor four numbers per corner. */
static void paints_write(face_writer *writer, const ply_row *row, const uint32_t which[3]) {
    const uint64_t each = row->paints.count == 3 * row->corner_count   ? 3
                          : row->paints.count == 4 * row->corner_count ? 4
                                                                       : 0;
    for (uint64_t k = 0; k < 3; ++k) {
        const float *from = row->paints.items + each * which[k];
        writer->target->corner_colours[3 * writer->triangle + k] =
            row->corner_count && each ? vec3_make(from[0], from[1], from[2]) : vec3_all(NAN);
    }
}

/* Returns the number of the texture; that after the last one if there is none. */
static uint32_t texture_of(const face_writer *writer, const ply_row *row) {
    const uint32_t count = writer->file->header.texture_count;
    const bool given = !writer->target->has_wedges ||
                       (row->wedges.count && row->wedges.count == 2 * row->corner_count);
    if (!ply_has(writer->piece->element, PLY_TEXTURE)) return given ? 0 : count;
    const float number = row->numbers[PLY_TEXTURE];
    return given && number >= 0 && number < (float)count ? (uint32_t)number : count;
}

/* Writes what few files have: the texture's number, texture coordinates of corners, the colour. Not
   inlined, so that other files do not become slower. */
__attribute__((noinline)) static void extras_write(face_writer *writer, const ply_row *row,
                                                   const uint32_t which[3]) {
    const ply_target *to = writer->target;
    if (to->has_wedges || ply_has(writer->piece->element, PLY_TEXTURE))
        to->mesh->triangle_materials[writer->triangle] = texture_of(writer, row);
    if (to->has_wedges) wedges_write(writer, row, which);
    if (to->corner_colours) paints_write(writer, row, which);
    if (to->triangle_colours)
        to->triangle_colours[writer->triangle] =
            ply_has_all(writer->piece->element, PLY_RED, 3)
                ? vec3_make(row->numbers[PLY_RED], row->numbers[PLY_GREEN], row->numbers[PLY_BLUE])
                : vec3_all(NAN);
}

static void corners_write(uint32_t *to, const int64_t corners[3]) {
    to[0] = (uint32_t)corners[0];
    to[1] = (uint32_t)corners[1];
    to[2] = (uint32_t)corners[2];
}

/* Writes the triangle of `corners`, which are the corners `which` of the row. */
static void triangle_write(face_writer *writer, const ply_row *row, const int64_t corners[3],
                           const uint32_t which[3], uint64_t line) {
    const ply_target *to = writer->target;
    const uint64_t at = 3 * writer->triangle;
    if (writer->triangle == writer->last) return;
    corners_write(to->mesh->triangles + at, corners);
    if (to->mesh->normal_indices) corners_write(to->mesh->normal_indices + at, corners);
    if (to->mesh->texcoord_indices) corners_write(to->mesh->texcoord_indices + at, corners);
    if (writer->has_extras) extras_write(writer, row, which);
    if (to->lines) to->lines[writer->triangle] = (uint32_t)(line + 1);
    ++writer->triangle;
}

static bool corners_are_sound(face_writer *writer, const ply_row *row, const char *at,
                              uint64_t line) {
    const bool restarts = writer->piece->element->kind == PLY_STRIPS;
    const uint32_t count = writer->target->mesh->position_count;
    for (uint64_t i = 0; i < row->corner_count; ++i) {
        const int64_t corner = row->corners[i];
        if ((corner >= 0 && corner < count) || (restarts && corner == -1)) continue;
        if (count)
            ply_problem(writer->file, &writer->piece->problems, true, "index-range", at, line,
                        "found the vertex index %lld, expected 0 to %u", (long long)corner,
                        count - 1);
        else
            ply_problem(writer->file, &writer->piece->problems, true, "index-range", at, line,
                        "found the vertex index %lld in a file without vertices",
                        (long long)corner);
        return false;
    }
    return true;
}

static bool polygon_capacity(face_writer *writer, uint64_t count) {
    if (count <= writer->capacity) return true;
    const uint64_t capacity = 2 * count;
    kd_status status = KD_GROW(writer->points, 0, capacity);
    if (status == KD_OK) status = KD_GROW(writer->cut, 0, 3 * capacity);
    writer->piece->status = status;
    if (status == KD_OK) writer->capacity = capacity;
    return status == KD_OK;
}

/* Writes a polygon of at least four corners. Skips it if a vertex is not finite, which has been
   reported with the vertex. */
static void polygon_write(face_writer *writer, const ply_row *row, uint64_t line) {
    const uint64_t count = row->corner_count;
    if (!polygon_capacity(writer, count)) return;
    for (uint64_t i = 0; i < count; ++i) {
        writer->points[i] = writer->target->mesh->positions[row->corners[i]];
        if (!vec3_is_finite(writer->points[i])) return;
    }
    writer->piece->status = polygon_triangulate(writer->points, (uint32_t)count, writer->cut);
    for (uint64_t i = 0; i + 2 < count && writer->piece->status == KD_OK; ++i) {
        const uint32_t *cut = &writer->cut[3 * i];
        const int64_t corners[3] = {row->corners[cut[0]], row->corners[cut[1]],
                                    row->corners[cut[2]]};
        triangle_write(writer, row, corners, cut, line);
    }
}

/* Reports lists of a wrong length, except empty ones. */
static void lists_check(face_writer *writer, const ply_row *row, const char *at, uint64_t line) {
    const uint64_t corners = row->corner_count, paints = row->paints.count;
    if (row->wedges.count != 0 && row->wedges.count != 2 * corners)
        ply_problem(writer->file, &writer->piece->problems, false, "texcoord-count", at, line,
                    "found %llu numbers in the texcoord list of a face of %llu corners, expected "
                    "two per corner; they are ignored",
                    (unsigned long long)row->wedges.count, (unsigned long long)corners);
    if (paints != 0 && paints != 3 * corners && paints != 4 * corners)
        ply_problem(
            writer->file, &writer->piece->problems, false, "color-count", at, line,
            "found %llu numbers in the color list of a face of %llu corners, expected three "
            "or four per corner; they are ignored",
            (unsigned long long)paints, (unsigned long long)corners);
}

static void face_write(face_writer *writer, const ply_row *row, const char *at, uint64_t line) {
    static const uint32_t whole[3] = {0, 1, 2};
    if (writer->has_extras) lists_check(writer, row, at, line);
    if (row->corner_count < 3)
        ply_problem(writer->file, &writer->piece->problems, false, "short-face", at, line,
                    "found a face of %llu corner%s, expected three or more; it is skipped",
                    (unsigned long long)row->corner_count, row->corner_count == 1 ? "" : "s");
    else if (row->corner_count == 3)
        triangle_write(writer, row, row->corners, whole, line);
    else
        polygon_write(writer, row, line);
}

static void strip_write(face_writer *writer, const ply_row *row, uint64_t line) {
    ply_strip strip = {{0, 0}, 0};
    int64_t corners[3];
    static const uint32_t none[3] = {0, 0, 0}; /* strips have no texture coordinates of corners */
    for (uint64_t i = 0; i < row->corner_count; ++i)
        if (ply_strip_next(&strip, row->corners[i], corners))
            triangle_write(writer, row, corners, none, line);
}

/* Marks the triangles that were counted but malformed faces did not produce. */
static void unusable_fill(face_writer *writer) {
    mesh *into = writer->target->mesh;
    writer->piece->unusable = writer->last - writer->triangle;
    for (uint64_t i = 3 * writer->triangle; i < 3 * writer->last; ++i) {
        into->triangles[i] = KD_NONE;
        if (into->normal_indices) into->normal_indices[i] = KD_NONE;
        if (into->texcoord_indices) into->texcoord_indices[i] = KD_NONE;
        if (writer->target->has_wedges) into->texcoords[i] = vec2_make(0, 0);
    }
    for (uint64_t i = writer->triangle; i < writer->last && writer->target->triangle_colours; ++i)
        writer->target->triangle_colours[i] = vec3_all(NAN);
    for (uint64_t i = 3 * writer->triangle; i < 3 * writer->last && writer->target->corner_colours;
         ++i)
        writer->target->corner_colours[i] = vec3_all(NAN);
    for (uint64_t i = writer->triangle; i < writer->last && writer->target->lines; ++i)
        writer->target->lines[i] = 0;
}

void ply_faces_read(const ply_file *file, ply_piece *piece, const ply_target *target) {
    face_writer writer;
    ply_row row;
    memset(&writer, 0, sizeof writer);
    memset(&row, 0, sizeof row);
    writer.file = file;
    writer.piece = piece;
    writer.target = target;
    writer.has_extras = target->has_wedges || target->triangle_colours || target->corner_colours ||
                        ply_has(piece->element, PLY_TEXTURE);
    writer.triangle = piece->first_triangle;
    writer.last = piece->first_triangle + piece->triangles;
    const char *at = piece->begin;
    uint64_t line = piece->line;
    for (uint64_t i = 0; i < piece->rows && piece->status == KD_OK; ++i) {
        const char *begin = at;
        if (!ply_row_read(file, piece, &at, &line, &row)) continue;
        const uint64_t row_line = line > 0 ? line - 1 : 0;
        if (!corners_are_sound(&writer, &row, begin, row_line)) continue;
        if (piece->element->kind == PLY_FACES)
            face_write(&writer, &row, begin, row_line);
        else
            strip_write(&writer, &row, row_line);
    }
    unusable_fill(&writer);
    ply_row_close(&row);
    memory_free(writer.points);
    memory_free(writer.cut);
}
