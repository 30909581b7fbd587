#include "scenes/ply/ply_colours.h"
#include "core/memory.h"
#include "scenes/obj/mtl.h"
#include "scenes/text/paths.h"

enum {
    STEPS = 32,
    CELLS = STEPS * STEPS * STEPS,
    LEVELS = 255 * 16 /* of the table from sRGB to linear: bytes are met exactly */
};

/* Triangles whose colours are near each other. */
typedef struct colour_cell {
    double sum[3]; /* linear */
    uint64_t triangles;
    uint32_t material;
} colour_cell;

/* 1 / the largest value that the file's type has for a colour. */
static float colour_scale(const ply_file *from) {
    const ply_element *element = from->header.vertices;
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &from->header.properties[element->first + i];
        if (property->role != PLY_RED) continue;
        if (ply_type_is_real(property->type)) return 1;
        return 1.0f / (float)((1ull << 8 * ply_type_bytes[property->type]) - 1);
    }
    return 1;
}

static float unit_clamp(float value) {
    return value > 0 ? (value < 1 ? value : 1) : 0; /* NaN is 0 */
}

static vec3 triangle_colour(const ply_target *to, uint64_t triangle, float scale) {
    vec3 sum = vec3_all(0);
    for (uint64_t k = 0; k < 3; ++k)
        sum = vec3_add(sum, to->colours[to->into->triangles[3 * triangle + k]]);
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

static kd_status cells_fill(const ply_target *to, float scale, colour_cell *cells) {
    double *linear = NULL;
    KD_TRY(KD_RESERVE(linear, LEVELS + 1));
    levels_fill(linear);
    for (uint64_t i = 0; i < to->into->triangle_count; ++i) {
        if (to->into->triangles[3 * i] == KD_NONE) continue;
        const vec3 colour = triangle_colour(to, i, scale);
        const uint32_t cell = cell_of(colour);
        cells[cell].sum[0] += linear[level_of(colour.x)];
        cells[cell].sum[1] += linear[level_of(colour.y)];
        cells[cell].sum[2] += linear[level_of(colour.z)];
        ++cells[cell].triangles;
        to->into->triangle_materials[i] = cell;
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

static kd_status colours_take(const ply_file *from, const ply_target *to, mtl_library *library) {
    colour_cell *cells = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(cells, CELLS));
    KD_TRY_GOTO(cells_fill(to, colour_scale(from), cells));
    for (uint32_t i = 0; i < CELLS; ++i)
        if (cells[i].triangles) KD_TRY_GOTO(cell_material(library, i, &cells[i]));
    for (uint64_t i = 0; i < to->into->triangle_count; ++i)
        to->into->triangle_materials[i] = to->into->triangles[3 * i] == KD_NONE
                                              ? 0
                                              : cells[to->into->triangle_materials[i]].material;
done:
    memory_free(cells);
    return status;
}

static kd_status texture_take(const ply_file *from, mesh_material *to, const obj_options *options) {
    const text_span name = from->header.texture;
    const char *expected;
    if (name.count == 0) return KD_OK;
    KD_TRY(path_find(from->path, name, &to->diffuse_map, &expected));
    if (to->diffuse_map) {
        to->record.diffuse = vec3_all(1);
        return KD_OK;
    }
    problem_list missing = {0};
    problem_add(&missing, false, "missing-texture", 0, "found TextureFile \"%.*s\", expected %s",
                text_shown(name), name.begin, expected);
    const kd_status status = problem_list_tell(&missing, from->path, PROBLEM_NO_LINES, options);
    problem_list_close(&missing);
    return status;
}

static kd_status library_fill(const ply_file *from, const ply_target *to, mtl_library *library,
                              const obj_options *options) {
    const text_span plain = {"default", 7};
    uint32_t index = 0;
    if (to->colours) KD_TRY(colours_take(from, to, library));
    if (library->count) return KD_OK;
    KD_TRY(mtl_library_add(library, plain, &index));
    if (to->into->texcoord_indices) KD_TRY(texture_take(from, &library->materials[index], options));
    return KD_OK;
}

kd_status ply_materials(const ply_file *from, const ply_target *to, const obj_options *options) {
    mtl_library library = {0};
    kd_status status = KD_OK;
    if (to->into->triangle_count) status = library_fill(from, to, &library, options);
    if (status == KD_OK) {
        to->into->materials = library.materials;
        to->into->material_count = library.count;
        library.materials = NULL;
        library.count = 0;
    }
    mtl_library_close(&library);
    return status;
}
