/* Repairs what is safe to repair: merges vertices at equal positions; removes unused vertices,
   degenerate faces, duplicates of one material, and normals of length zero; reverses flipped faces
   and inverted bodies. All other lines of the file are preserved.
   Idea: two passes over the text. The first determines the fate of each face, and which normals
     are needed reversed; the second writes. Vertex indices are written as positive numbers. */
#include "core/files/file.h"
#include "core/memory.h"
#include "core/system/files.h"
#include "core/system/paths.h"
#include "scenes/check/check_obj.h"
#include "scenes/check/check_parts.h"
#include "scenes/mesh/origin.h"
#include <limits.h>
#include <stdlib.h>

enum { NORMAL_PLAIN = 1, NORMAL_TURNED = 2 };

typedef struct fixing {
    examination *check;
    const uint32_t *lines; /* line of each triangle in the text */
    char *text;
    const char *begin, *end;
    uint32_t *vertex_number;    /* per position: 1-based index in the new file, 0: removed */
    uint32_t *normal_number[2]; /* per normal: 1-based index of it and of its reverse, 0: none */
    uint8_t *normals_wanted;    /* per normal: NORMAL_PLAIN, NORMAL_TURNED or both */
    obj_ring ring;
    obj_seen seen;
    uint64_t triangle; /* first triangle of the next face */
    FILE *file;        /* NULL in the first pass */
    /* prefix of library paths if the new file is in another directory, else NULL */
    const char *folder;
} fixing;

/* --- decisions about faces -------------------------------------------------------------------- */

/* Returns the end of the triangles of the face on that line; an empty range if it was dropped. */
static uint64_t triangles_end(const fixing *fix, uint32_t line) {
    uint64_t end = fix->triangle;
    while (end < fix->check->body.triangle_count && fix->lines[end] == line) ++end;
    return end;
}

static bool is_turned(uint8_t marks) {
    return !(marks & CHECK_AGAINST) != !(marks & CHECK_INWARDS);
}

/* Returns -1 to remove a face, 1 to reverse it, 0 to keep it. */
static int fate_of(const fixing *fix, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
        const uint8_t marks = fix->check->marks[i];
        if (marks & CHECK_IDLE) continue;
        return is_turned(marks);
    }
    /* a duplicate with another material follows its original */
    for (uint64_t i = begin; i < end; ++i)
        if (fix->check->marks[i] & CHECK_OTHER_APPEARANCE)
            return is_turned(fix->check->marks[fix->check->twin[i]]);
    return -1;
}

static bool normals_are_sound(const fixing *fix) {
    const mesh *body = &fix->check->body;
    for (uint64_t i = 0; i < fix->ring.count; ++i) {
        const uint32_t normal = fix->ring.normal[i];
        if (normal == KD_NONE || normal >= body->normal_count ||
            vec3_is_zero(body->normals[normal]))
            return false;
    }
    return true;
}

/* Returns true if the normals point to the front side of the original winding. */
static bool normals_follow(const fixing *fix, uint64_t triangle) {
    const mesh *body = &fix->check->body;
    const vec3 a = check_point(fix->check, triangle, 0), b = check_point(fix->check, triangle, 1);
    const vec3 c = check_point(fix->check, triangle, 2);
    double sum[3] = {0, 0, 0}, along = 0;
    for (uint64_t i = 0; i < fix->ring.count; ++i)
        for (int k = 0; k < 3; ++k)
            sum[k] += (double)vec3_axis(body->normals[fix->ring.normal[i]], k);
    for (int k = 0; k < 3; ++k) {
        const int l = (k + 1) % 3, m = (k + 2) % 3;
        const double bl = (double)vec3_axis(b, l) - (double)vec3_axis(a, l);
        const double bm = (double)vec3_axis(b, m) - (double)vec3_axis(a, m);
        const double cl = (double)vec3_axis(c, l) - (double)vec3_axis(a, l);
        const double cm = (double)vec3_axis(c, m) - (double)vec3_axis(a, m);
        along += sum[k] * (bl * cm - bm * cl);
    }
    return along > 0;
}

/* Removes corners that coincide with the previous one. */
static void ring_clean(fixing *fix) {
    obj_ring *ring = &fix->ring;
    const uint32_t *welded = fix->check->welded;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < ring->count; ++i) {
        ring->position[i] = welded[ring->position[i]];
        if (kept > 0 && ring->position[kept - 1] == ring->position[i]) continue;
        ring->position[kept] = ring->position[i];
        ring->texcoord[kept] = ring->texcoord[i];
        ring->normal[kept++] = ring->normal[i];
    }
    while (kept > 1 && ring->position[kept - 1] == ring->position[0]) --kept;
    ring->count = kept;
}

static void corner_write(const fixing *fix, uint64_t i, bool has_normals, int side) {
    const uint32_t texcoord = fix->ring.texcoord[i];
    fprintf(fix->file, " %u", fix->vertex_number[fix->ring.position[i]]);
    const bool has_texcoord = texcoord < fix->check->body.texcoord_count;
    if (has_texcoord) fprintf(fix->file, "/%u", texcoord + 1);
    if (has_normals)
        fprintf(fix->file, has_texcoord ? "/%u" : "//%u",
                fix->normal_number[side][fix->ring.normal[i]]);
}

static kd_status face_mend(fixing *fix, const obj_line *line) {
    const uint64_t begin = fix->triangle, end = triangles_end(fix, line->line);
    fix->triangle = end;
    const int fate = fate_of(fix, begin, end);
    if (fate < 0) return KD_OK;
    KD_TRY(obj_ring_read(&fix->ring, line->rest, &fix->seen));
    ring_clean(fix);
    const bool has_normals = normals_are_sound(fix);
    const int side = has_normals && fate > 0 && normals_follow(fix, begin) ? 1 : 0;
    const uint64_t count = fix->ring.count;
    for (uint64_t i = 0; i < count && has_normals; ++i)
        fix->normals_wanted[fix->ring.normal[i]] |= (uint8_t)(1 << side);
    if (!fix->file) return KD_OK;
    fputc('f', fix->file);
    for (uint64_t i = 0; i < count; ++i)
        corner_write(fix, fate > 0 ? count - 1 - i : i, has_normals, side);
    fputc('\n', fix->file);
    return KD_OK;
}

/* --- the other lines -------------------------------------------------------------------------- */

static void verbatim(const fixing *fix, const obj_line *line) {
    if (!fix->file) return;
    fwrite(line->begin, 1, (size_t)(line->end - line->begin), fix->file);
    if (!text_is_line_end(line->end[-1])) fputc('\n', fix->file);
}

static void normal_write(const fixing *fix, const obj_line *line) {
    if (!fix->file) return;
    const uint64_t i = fix->seen.normals;
    if (fix->normal_number[0][i]) verbatim(fix, line);
    if (!fix->normal_number[1][i]) return;
    const vec3 n = fix->check->body.normals[i];
    fprintf(fix->file, "vn %.9g %.9g %.9g\n", -(double)n.x, -(double)n.y, -(double)n.z);
}

static kd_status element_write(fixing *fix, const obj_line *line, const char *rest) {
    if (!fix->file) return KD_OK;
    KD_TRY(obj_ring_read(&fix->ring, rest, &fix->seen));
    fwrite(line->rest, 1, (size_t)(rest - line->rest), fix->file);
    for (uint64_t i = 0; i < fix->ring.count; ++i) {
        const uint32_t position = fix->ring.position[i], texcoord = fix->ring.texcoord[i];
        if (position >= fix->check->body.position_count) continue;
        fprintf(fix->file, " %u", fix->vertex_number[fix->check->welded[position]]);
        if (texcoord < fix->check->body.texcoord_count) fprintf(fix->file, "/%u", texcoord + 1);
    }
    fputc('\n', fix->file);
    return KD_OK;
}

/* Library paths are relative to the old file; writes an absolute path. */
static void library_write(const fixing *fix, const obj_line *line) {
    text_cursor cursor = {line->rest, 0};
    text_word(&cursor);
    const text_span name = text_rest(&cursor);
    if (!fix->folder || name.count == 0 || *name.begin == '/') {
        verbatim(fix, line);
        return;
    }
    if (!fix->file) return;
    fprintf(fix->file, "mtllib %s/%.*s\n", fix->folder, (int)name.count, name.begin);
}

static bool is_library(const obj_line *line) {
    text_cursor cursor = {line->rest, 0};
    return line->kind == STATEMENT_OTHER && text_is(text_word(&cursor), "mtllib");
}

static kd_status line_mend(fixing *fix, const obj_line *line) {
    const char *rest = NULL;
    if (line->kind == STATEMENT_FACE) {
        KD_TRY(face_mend(fix, line));
    } else if (line->kind == STATEMENT_NORMAL) {
        normal_write(fix, line);
    } else if (line->kind == STATEMENT_POSITION) {
        if (fix->vertex_number[fix->seen.positions]) verbatim(fix, line);
    } else if (obj_line_is_element(line, &rest)) {
        KD_TRY(element_write(fix, line, rest));
    } else if (is_library(line)) {
        library_write(fix, line);
    } else {
        verbatim(fix, line);
    }
    obj_seen_add(&fix->seen, line);
    return KD_OK;
}

static kd_status write_lines(fixing *fix, FILE *file) {
    text_cursor cursor = {fix->begin, 0};
    obj_line line;
    fix->file = file;
    fix->triangle = 0;
    memset(&fix->seen, 0, sizeof fix->seen);
    while (obj_line_next(&cursor, fix->end, &line)) KD_TRY(line_mend(fix, &line));
    return KD_OK;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static kd_status vertices_number(fixing *fix) {
    const examination *check = fix->check;
    uint32_t next = 0;
    KD_TRY(KD_RESERVE_ZEROED(fix->vertex_number, check->body.position_count));
    for (uint64_t i = 0; i < 3 * (uint64_t)check->body.triangle_count; ++i)
        if (!(check->marks[i / 3] & CHECK_IDLE))
            fix->vertex_number[check->welded[check->body.triangles[i]]] = 1;
    for (uint32_t i = 0; i < check->body.position_count; ++i)
        if (check->used[i] & CHECK_USED_ELSEWHERE) fix->vertex_number[check->welded[i]] = 1;
    for (uint32_t i = 0; i < check->body.position_count; ++i)
        if (fix->vertex_number[i]) fix->vertex_number[i] = ++next;
    return KD_OK;
}

/* Numbers the normals. Unused ones are kept unless they have length zero. */
static kd_status normals_number(fixing *fix) {
    const mesh *body = &fix->check->body;
    uint32_t next = 0;
    for (int side = 0; side < 2; ++side)
        KD_TRY(KD_RESERVE_ZEROED(fix->normal_number[side], body->normal_count));
    for (uint32_t i = 0; i < body->normal_count; ++i) {
        const uint8_t need = fix->normals_wanted[i];
        if (!vec3_is_zero(body->normals[i]) && need != NORMAL_TURNED)
            fix->normal_number[0][i] = ++next;
        if (need & NORMAL_TURNED) fix->normal_number[1][i] = ++next;
    }
    return KD_OK;
}

static kd_status source_read(fixing *fix, uint32_t **made_lines) {
    uint64_t bytes = 0;
    fix->lines = fix->check->is_obj ? fix->check->lines : NULL;
    if (fix->lines) {
        KD_TRY(obj_text_read(&fix->text, &fix->begin, &fix->end, fix->check->path));
        return KD_OK;
    }
    KD_TRY(check_mesh_text(&fix->check->body, &fix->text, &bytes, made_lines));
    fix->lines = *made_lines;
    fix->begin = fix->text;
    fix->end = fix->text + bytes;
    return KD_OK;
}

/* Gets the canonical directory of a path. Returns false if it does not exist. */
static bool folder_of(char out[PLACE_BYTES], const char *path) {
    char copy[PLACE_BYTES];
    snprintf(copy, sizeof copy, "%s", path);
    char *slash = strrchr(copy, '/');
    if (slash) slash[slash == copy] = '\0';
    return place_of_path(out, slash ? copy : ".");
}

static kd_status fixed_write(fixing *fix, const char *to) {
    file_output output;
    KD_TRY(file_output_open(&output, to));
    const kd_status status = write_lines(fix, output.stream);
    if (status != KD_OK) {
        file_output_discard(&output);
        return status_pass(status, __FILE__, __LINE__, "write_lines");
    }
    KD_TRY(file_output_commit(&output));
    return KD_OK;
}

kd_status check_fix(examination *check, const char *to) {
    fixing fix;
    uint32_t *made_lines = NULL;
    kd_status status;
    KD_REQUIRE(check->report->renderable && check->body.triangle_count > 0, KD_ERROR_INPUT,
               "%s: the mesh has errors or no triangle; %s was not written", check->path, to);
    memset(&fix, 0, sizeof fix);
    fix.check = check;
    char from[PLACE_BYTES], target_folder[PLACE_BYTES];
    if (check->is_obj && folder_of(from, check->path) && folder_of(target_folder, to) &&
        strcmp(from, target_folder) != 0)
        fix.folder = from;
    KD_TRY_GOTO(source_read(&fix, &made_lines));
    KD_TRY_GOTO(vertices_number(&fix));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(fix.normals_wanted, check->body.normal_count));
    KD_TRY_GOTO(write_lines(&fix, NULL));
    KD_TRY_GOTO(normals_number(&fix));
    KD_TRY_GOTO(fixed_write(&fix, to));
done:
    memory_free(fix.text);
    memory_free(fix.vertex_number);
    memory_free(fix.normal_number[0]);
    memory_free(fix.normal_number[1]);
    memory_free(fix.normals_wanted);
    memory_free(made_lines);
    obj_ring_close(&fix.ring);
    return status;
}

/* Writes a mesh of another format as the text of an OBJ file. */

static void obj_corner_write(FILE *file, const mesh *body, uint64_t corner) {
    const uint32_t texcoord = body->texcoord_indices ? body->texcoord_indices[corner] : KD_NONE;
    const uint32_t normal = body->normal_indices ? body->normal_indices[corner] : KD_NONE;
    fprintf(file, " %u", body->triangles[corner] + 1);
    if (texcoord != KD_NONE) fprintf(file, "/%u", texcoord + 1);
    if (normal != KD_NONE) fprintf(file, texcoord != KD_NONE ? "/%u" : "//%u", normal + 1);
}

static void name_write(FILE *file, const char *name) {
    fputs("g ", file);
    for (; *name; ++name) fputc((unsigned char)*name < ' ' || *name == '\\' ? '_' : *name, file);
    fputc('\n', file);
}

static uint32_t vertices_write(FILE *file, const mesh *body) {
    const int digits = origin_is_zero(body->origin) ? 9 : 17;
    for (uint32_t i = 0; i < body->position_count; ++i) {
        double at[3];
        origin_to_world(at, body->origin, body->positions[i]);
        fprintf(file, "v %.*g %.*g %.*g\n", digits, at[0], digits, at[1], digits, at[2]);
    }
    for (uint32_t i = 0; i < body->texcoord_count; ++i)
        fprintf(file, "vt %.9g %.9g\n", (double)body->texcoords[i].x, (double)body->texcoords[i].y);
    for (uint32_t i = 0; i < body->normal_count; ++i)
        fprintf(file, "vn %.9g %.9g %.9g\n", (double)body->normals[i].x, (double)body->normals[i].y,
                (double)body->normals[i].z);
    return body->position_count + body->texcoord_count + body->normal_count;
}

static void mesh_write(FILE *file, const mesh *body, uint32_t *lines) {
    uint32_t line = vertices_write(file, body);
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        const uint32_t material = body->triangle_materials[i];
        if (body->material_count > 1 && (i == 0 || material != body->triangle_materials[i - 1])) {
            name_write(file, body->materials[material].name);
            ++line;
        }
        fputc('f', file);
        for (uint64_t k = 0; k < 3; ++k) obj_corner_write(file, body, 3 * i + k);
        fputc('\n', file);
        lines[i] = ++line;
    }
    fputs("\n\n", file); /* terminates the text as the parser requires */
}

kd_status check_mesh_text(const mesh *body, char **text, uint64_t *bytes, uint32_t **lines) {
    text_stream made;
    *text = NULL;
    *lines = NULL;
    KD_TRY(KD_RESERVE(*lines, body->triangle_count));
    KD_REQUIRE(text_stream_open(&made), KD_ERROR_MEMORY, "out of memory for the mesh file");
    mesh_write(made.stream, body, *lines);
    kd_status status = text_stream_end(&made) ? KD_OK : KD_ERROR_MEMORY;
    if (status == KD_OK) status = KD_RESERVE(*text, (uint64_t)made.count);
    if (status == KD_OK) {
        memcpy(*text, made.text, made.count);
        *bytes = (uint64_t)made.count - 2;
    }
    free(made.text);
    KD_REQUIRE(status == KD_OK, status, "out of memory for the mesh file");
    return KD_OK;
}
