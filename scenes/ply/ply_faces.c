#include "scenes/ply/ply_faces.h"
#include "core/memory.h"
#include "scenes/mesh/polygon.h"

typedef struct face_writer {
    const ply_file *from;
    ply_piece *piece;
    const ply_target *to;
    uint64_t triangle, last; /* the next to write; the end of the piece's room */
    vec3 *points;            /* room for the largest polygon so far */
    uint32_t *cut;
    uint64_t room;
} face_writer;

static void triangle_write(face_writer *from, const int64_t corners[3], uint64_t line) {
    const ply_target *to = from->to;
    const uint64_t at = 3 * from->triangle;
    if (from->triangle == from->last) return;
    for (uint64_t k = 0; k < 3; ++k) {
        const uint32_t corner = (uint32_t)corners[k];
        to->into->triangles[at + k] = corner;
        if (to->into->normal_indices) to->into->normal_indices[at + k] = corner;
        if (to->into->texcoord_indices) to->into->texcoord_indices[at + k] = corner;
    }
    if (to->lines) to->lines[from->triangle] = (uint32_t)(line + 1);
    ++from->triangle;
}

static bool corners_are_sound(face_writer *from, const ply_row *row, const char *at,
                              uint64_t line) {
    const bool restarts = from->piece->element->kind == PLY_STRIPS;
    const uint32_t count = from->to->into->position_count;
    for (uint64_t i = 0; i < row->corner_count; ++i) {
        const int64_t corner = row->corners[i];
        if ((corner >= 0 && corner < count) || (restarts && corner == -1)) continue;
        if (count)
            ply_problem(from->from, &from->piece->problems, true, "index-range", at, line,
                        "found the vertex index %lld, expected 0 to %u", (long long)corner,
                        count - 1);
        else
            ply_problem(from->from, &from->piece->problems, true, "index-range", at, line,
                        "found the vertex index %lld in a file without vertices",
                        (long long)corner);
        return false;
    }
    return true;
}

static bool polygon_room(face_writer *from, uint64_t count) {
    if (count <= from->room) return true;
    const uint64_t room = 2 * count;
    kd_status status = KD_GROW(from->points, 0, room);
    if (status == KD_OK) status = KD_GROW(from->cut, 0, 3 * room);
    from->piece->status = status;
    if (status == KD_OK) from->room = room;
    return status == KD_OK;
}

/* Four corners and more. One that is not finite leaves the face out: so it was told of its vertex.
 */
static void polygon_write(face_writer *from, const ply_row *row, uint64_t line) {
    const uint64_t count = row->corner_count;
    if (!polygon_room(from, count)) return;
    for (uint64_t i = 0; i < count; ++i) {
        from->points[i] = from->to->into->positions[row->corners[i]];
        if (!vec3_is_finite(from->points[i])) return;
    }
    from->piece->status = polygon_triangulate(from->points, (uint32_t)count, from->cut);
    for (uint64_t i = 0; i + 2 < count && from->piece->status == KD_OK; ++i) {
        const uint32_t *cut = &from->cut[3 * i];
        const int64_t corners[3] = {row->corners[cut[0]], row->corners[cut[1]],
                                    row->corners[cut[2]]};
        triangle_write(from, corners, line);
    }
}

static void face_write(face_writer *from, const ply_row *row, const char *at, uint64_t line) {
    if (row->corner_count < 3)
        ply_problem(from->from, &from->piece->problems, false, "short-face", at, line,
                    "found a face of %llu corner%s, expected three or more; it is left out",
                    (unsigned long long)row->corner_count, row->corner_count == 1 ? "" : "s");
    else if (row->corner_count == 3)
        triangle_write(from, row->corners, line);
    else
        polygon_write(from, row, line);
}

static void strip_write(face_writer *from, const ply_row *row, uint64_t line) {
    ply_strip strip = {{0, 0}, 0};
    int64_t corners[3];
    for (uint64_t i = 0; i < row->corner_count; ++i)
        if (ply_strip_next(&strip, row->corners[i], corners)) triangle_write(from, corners, line);
}

/* Triangles that were counted and that bad faces did not yield. */
static void unusable_fill(face_writer *from) {
    mesh *into = from->to->into;
    from->piece->unusable = from->last - from->triangle;
    for (uint64_t i = 3 * from->triangle; i < 3 * from->last; ++i) {
        into->triangles[i] = KD_NONE;
        if (into->normal_indices) into->normal_indices[i] = KD_NONE;
        if (into->texcoord_indices) into->texcoord_indices[i] = KD_NONE;
    }
    for (uint64_t i = from->triangle; i < from->last && from->to->lines; ++i)
        from->to->lines[i] = 0;
}

void ply_faces_read(const ply_file *from, ply_piece *piece, const ply_target *to) {
    face_writer writer;
    ply_row row;
    memset(&writer, 0, sizeof writer);
    memset(&row, 0, sizeof row);
    writer.from = from;
    writer.piece = piece;
    writer.to = to;
    writer.triangle = piece->first_triangle;
    writer.last = piece->first_triangle + piece->triangles;
    const char *at = piece->begin;
    uint64_t line = piece->line;
    for (uint64_t i = 0; i < piece->rows && piece->status == KD_OK; ++i) {
        const char *begin = at;
        if (!ply_row_read(from, piece, &at, &line, &row)) continue;
        const uint64_t here = line > 0 ? line - 1 : 0;
        if (!corners_are_sound(&writer, &row, begin, here)) continue;
        if (piece->element->kind == PLY_FACES)
            face_write(&writer, &row, begin, here);
        else
            strip_write(&writer, &row, here);
    }
    unusable_fill(&writer);
    memory_free(row.corners);
    memory_free(writer.points);
    memory_free(writer.cut);
}
