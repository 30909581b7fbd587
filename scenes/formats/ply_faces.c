/* Converts faces and strips of a PLY file to triangles, and vertex colours to materials. */
#include "core/memory.h"
#include "scenes/formats/mtl.h"
#include "scenes/formats/ply_parts.h"
#include "scenes/mesh/mesh_cleanup.h"
#include "scenes/text/paths.h"

typedef struct face_writer {
    const ply_file *file;
    ply_piece *piece;
    const ply_target *target;
    uint64_t triangle, last; /* next triangle to write; end of the piece's range */
    vec3 *points;            /* buffers for the largest polygon so far */
    uint32_t *cut;
    uint64_t capacity;
} face_writer;

static void triangle_write(face_writer *writer, const int64_t corners[3], uint64_t line) {
    const ply_target *to = writer->target;
    const uint64_t at = 3 * writer->triangle;
    if (writer->triangle == writer->last) return;
    for (uint64_t k = 0; k < 3; ++k) {
        const uint32_t corner = (uint32_t)corners[k];
        to->mesh->triangles[at + k] = corner;
        if (to->mesh->normal_indices) to->mesh->normal_indices[at + k] = corner;
        if (to->mesh->texcoord_indices) to->mesh->texcoord_indices[at + k] = corner;
    }
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
        triangle_write(writer, corners, line);
    }
}

static void face_write(face_writer *writer, const ply_row *row, const char *at, uint64_t line) {
    if (row->corner_count < 3)
        ply_problem(writer->file, &writer->piece->problems, false, "short-face", at, line,
                    "found a face of %llu corner%s, expected three or more; it is skipped",
                    (unsigned long long)row->corner_count, row->corner_count == 1 ? "" : "s");
    else if (row->corner_count == 3)
        triangle_write(writer, row->corners, line);
    else
        polygon_write(writer, row, line);
}

static void strip_write(face_writer *writer, const ply_row *row, uint64_t line) {
    ply_strip strip = {{0, 0}, 0};
    int64_t corners[3];
    for (uint64_t i = 0; i < row->corner_count; ++i)
        if (ply_strip_next(&strip, row->corners[i], corners)) triangle_write(writer, corners, line);
}

/* Marks the triangles that were counted but malformed faces did not produce. */
static void unusable_fill(face_writer *writer) {
    mesh *into = writer->target->mesh;
    writer->piece->unusable = writer->last - writer->triangle;
    for (uint64_t i = 3 * writer->triangle; i < 3 * writer->last; ++i) {
        into->triangles[i] = KD_NONE;
        if (into->normal_indices) into->normal_indices[i] = KD_NONE;
        if (into->texcoord_indices) into->texcoord_indices[i] = KD_NONE;
    }
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
    memory_free(row.corners);
    memory_free(writer.points);
    memory_free(writer.cut);
}

enum {
    STEPS = 32,
    CELLS = STEPS * STEPS * STEPS,
    LEVELS = 255 * 16 /* size of the table from sRGB to linear; exact for 8-bit values */
};

/* Accumulates the triangles of similar colours. */
typedef struct colour_cell {
    double sum[3]; /* sum of linear colours */
    uint64_t triangles;
    uint32_t material;
} colour_cell;

/* Returns 1 / the maximum of the file's colour type. */
static float colour_scale(const ply_file *file) {
    const ply_element *element = file->header.vertices;
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        if (property->role != PLY_RED) continue;
        if (ply_type_is_real(property->type)) return 1;
        return 1.0f / (float)((1ull << 8 * ply_type_bytes[property->type]) - 1);
    }
    return 1;
}

static float unit_clamp(float value) {
    return value > 0 ? (value < 1 ? value : 1) : 0; /* maps NaN to 0 */
}

static vec3 triangle_colour(const ply_target *target, uint64_t triangle, float scale) {
    vec3 sum = vec3_all(0);
    for (uint64_t k = 0; k < 3; ++k)
        sum = vec3_add(sum, target->colours[target->mesh->triangles[3 * triangle + k]]);
    return vec3_scale(sum, scale / 3);
}

static uint32_t step_of(float value) {
    return (uint32_t)lrintf(unit_clamp(value) * (STEPS - 1));
}

static uint32_t cell_of(vec3 colour) {
    return (step_of(colour.x) * STEPS + step_of(colour.y)) * STEPS + step_of(colour.z);
}

static void levels_fill(double *linear) {
    for (int i = 0; i <= LEVELS; ++i) {
        const double v = (double)i / LEVELS;
        linear[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    }
}

static int level_of(float value) {
    return (int)lrintf(unit_clamp(value) * LEVELS);
}

static kd_status cells_fill(const ply_target *target, float scale, colour_cell *cells) {
    double *linear = NULL;
    KD_TRY(KD_RESERVE(linear, LEVELS + 1));
    levels_fill(linear);
    for (uint64_t i = 0; i < target->mesh->triangle_count; ++i) {
        if (target->mesh->triangles[3 * i] == KD_NONE) continue;
        const vec3 colour = triangle_colour(target, i, scale);
        const uint32_t cell = cell_of(colour);
        cells[cell].sum[0] += linear[level_of(colour.x)];
        cells[cell].sum[1] += linear[level_of(colour.y)];
        cells[cell].sum[2] += linear[level_of(colour.z)];
        ++cells[cell].triangles;
        target->mesh->triangle_materials[i] = cell;
    }
    memory_free(linear);
    return KD_OK;
}

static kd_status cell_material(mtl_library *library, uint32_t at, colour_cell *cell) {
    char name[32];
    text_span span = {name, 0};
    span.count = (uint64_t)snprintf(name, sizeof name, "colour-%u-%u-%u", at / STEPS / STEPS,
                                    at / STEPS % STEPS, at % STEPS);
    KD_TRY(mtl_library_add(library, span, &cell->material));
    const double share = 1 / (double)cell->triangles;
    library->materials[cell->material].record.diffuse =
        vec3_make((float)(cell->sum[0] * share), (float)(cell->sum[1] * share),
                  (float)(cell->sum[2] * share));
    return KD_OK;
}

static kd_status colours_take(const ply_file *file, const ply_target *target,
                              mtl_library *library) {
    colour_cell *cells = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(cells, CELLS));
    KD_TRY_GOTO(cells_fill(target, colour_scale(file), cells));
    for (uint32_t i = 0; i < CELLS; ++i)
        if (cells[i].triangles) KD_TRY_GOTO(cell_material(library, i, &cells[i]));
    for (uint64_t i = 0; i < target->mesh->triangle_count; ++i)
        target->mesh->triangle_materials[i] =
            target->mesh->triangles[3 * i] == KD_NONE
                ? 0
                : cells[target->mesh->triangle_materials[i]].material;
done:
    memory_free(cells);
    return status;
}

static kd_status texture_take(const ply_file *file, mesh_material *material,
                              const obj_options *options) {
    const text_span name = file->header.texture;
    const char *expected;
    if (name.count == 0) return KD_OK;
    KD_TRY(path_find(file->path, name, &material->diffuse_map, &expected));
    if (material->diffuse_map) {
        material->record.diffuse = vec3_all(1);
        return KD_OK;
    }
    problem_list missing = {0};
    problem_add(&missing, false, "missing-texture", 0, "found TextureFile \"%.*s\", expected %s",
                text_shown(name), name.begin, expected);
    const kd_status status = problem_list_report(&missing, file->path, PROBLEM_NO_LINES, options);
    problem_list_close(&missing);
    return status;
}

static kd_status library_fill(const ply_file *file, const ply_target *target, mtl_library *library,
                              const obj_options *options) {
    const text_span plain = {"default", 7};
    uint32_t index = 0;
    if (target->colours) KD_TRY(colours_take(file, target, library));
    if (library->count) return KD_OK;
    KD_TRY(mtl_library_add(library, plain, &index));
    if (target->mesh->texcoord_indices)
        KD_TRY(texture_take(file, &library->materials[index], options));
    return KD_OK;
}

kd_status ply_materials(const ply_file *file, const ply_target *target,
                        const obj_options *options) {
    mtl_library library = {0};
    kd_status status = KD_OK;
    if (target->mesh->triangle_count) status = library_fill(file, target, &library, options);
    if (status == KD_OK) {
        target->mesh->materials = library.materials;
        target->mesh->material_count = library.count;
        library.materials = NULL;
        library.count = 0;
    }
    mtl_library_close(&library);
    return status;
}
