/* Procedural random triangles, a terrain, and a cloth. */
#include "core/math/elementary.h"
#include "core/math/noise.h"
#include "core/math/rng.h"
#include "core/parallel/parallel.h"
#include "scenes/mesh/generate.h"

/* Random triangles whose size decreases with their number, so that the total area stays about
   constant. */

typedef struct soup {
    mesh *made;
    uint64_t seed;
    float size;
} soup;

static void throw_triangles(void *context, int64_t begin, int64_t end, int thread) {
    const soup *triangles = (const soup *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const rng_key key = rng_key_make(triangles->seed, 3, (uint64_t)i);
        const rng_block at = rng_draw(key, 0, 0);
        const vec3 centre = vec3_make(at.value[0], at.value[1], at.value[2]);
        for (uint32_t corner = 0; corner < 3; ++corner) {
            const rng_block r = rng_draw(key, 0, 1 + corner);
            const vec3 offset = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
            triangles->made->positions[3 * i + corner] =
                vec3_along(centre, triangles->size, offset);
            triangles->made->triangles[3 * i + corner] = (uint32_t)(3 * i + corner);
        }
    }
}

void procedural_soup(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    soup soup = {&builder->made, seed, (float)(2 / sqrt((double)triangles))};
    if (soup.size > 0.5f) soup.size = 0.5f;
    mesh_builder_extend(builder, 3 * triangles, triangles);
    if (builder->status == KD_OK) parallel_for((int64_t)triangles, 4096, throw_triangles, &soup);
}

/* A terrain of 10 x 10 with heights from seven octaves of noise. */

typedef struct terrain {
    mesh *made;
    const noise *hills;
    uint32_t k; /* cells per edge */
} terrain;

static float height_at(const terrain *terrain, float x, float z) {
    return noise_octaves(terrain->hills, vec3_make(0.35f * x, 0.5f, 0.35f * z), 1.2f, 7);
}

static void raise_rows(void *context, int64_t begin, int64_t end, int thread) {
    const terrain *field = (const terrain *)context;
    const uint32_t k = field->k, side = k + 1;
    const float step = 10.0f / (float)k;
    (void)thread;
    for (uint32_t row = (uint32_t)begin; row < (uint32_t)end; ++row)
        for (uint32_t column = 0; column <= k; ++column) {
            const float x = (float)column * step - 5, z = (float)row * step - 5;
            const float slope_x = height_at(field, x + step, z) - height_at(field, x - step, z);
            const float slope_z = height_at(field, x, z + step) - height_at(field, x, z - step);
            const uint32_t number = row * side + column;
            field->made->positions[number] = vec3_make(x, height_at(field, x, z), z);
            field->made->normals[number] = vec3_normalize(vec3_make(-slope_x, 2 * step, -slope_z));
        }
}

static void join_cells(void *context, int64_t begin, int64_t end, int thread) {
    const terrain *field = (const terrain *)context;
    const uint32_t k = field->k, side = k + 1;
    (void)thread;
    for (uint32_t row = (uint32_t)begin; row < (uint32_t)end; ++row)
        for (uint32_t column = 0; column < k; ++column) {
            const uint32_t a = row * side + column, b = a + side, c = b + 1, d = a + 1;
            const uint32_t corners[6] = {a, b, c, a, c, d};
            const uint64_t slot = 6 * ((uint64_t)row * k + column);
            memcpy(field->made->triangles + slot, corners, sizeof corners);
            memcpy(field->made->normal_indices + slot, corners, sizeof corners);
        }
}

void procedural_terrain(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    noise hills = {NULL};
    const double k = nearbyint(sqrt((double)triangles / 2));
    terrain terrain = {&builder->made, &hills, k < 1 ? 1 : (uint32_t)k};
    const uint64_t points = ((uint64_t)terrain.k + 1) * ((uint64_t)terrain.k + 1);
    material earth = material_default();
    earth.diffuse = vec3_make(0.42f, 0.4f, 0.3f);
    mesh_builder_material(builder, "earth", &earth);
    mesh_builder_extend(builder, points, 2 * (uint64_t)terrain.k * terrain.k);
    mesh_builder_extend_normals(builder, points);
    if (builder->status == KD_OK) builder->status = noise_open(&hills, seed);
    if (builder->status == KD_OK) {
        parallel_for((int64_t)terrain.k + 1, 4, raise_rows, &terrain);
        parallel_for((int64_t)terrain.k, 4, join_cells, &terrain);
    }
    noise_close(&hills);
}

/* A cloth that lies on a table and rises behind it in folds, as a backdrop for still lives. It
   spans x from -2.2 to 2.2. It lies near y = 0 from z = 1.4 to -0.8, bends, and hangs at z = -1.15
   up to y = 2.25. */

static const float half_width = 2.2f, front = 1.4f, flat = 2.2f, bend = 0.35f, rise = 1.9f;

typedef struct cloth {
    mesh *made;
    const noise *wrinkles;
    uint32_t across, along; /* numbers of cells */
} cloth;

static float smooth_step(float t) {
    t = float_clamp(t, 0, 1);
    return t * t * (3 - 2 * t);
}

/* Position at u from -1 to 1 across, and arc length t from the front edge. */
static vec3 cloth_at(const cloth *cloth, float u, float t) {
    const float turn = float_clamp((t - flat) / bend, 0, KD_PI / 2);
    const float hung = float_max(t - flat - bend * (KD_PI / 2), 0);
    const vec3 base = vec3_make(half_width * u, bend * (1 - float_cos(turn)) + hung,
                                front - float_min(t, flat) - bend * float_sin(turn));
    const float grow = smooth_step((t - 1.3f) / 2.2f);
    const float x =
        u + 0.09f * noise_octaves(cloth->wrinkles, vec3_make(1.3f * u, 0.4f * t, 4), 1, 2);
    const float folds =
        float_sin(11 * x) + 0.55f * float_sin(23 * x + 1.3f) + 0.3f * float_sin(37 * x + 0.4f);
    const float lying =
        noise_octaves(cloth->wrinkles, vec3_make(1.1f * base.x, 0.5f, 0.8f * base.z), 1, 4);
    const float out = 0.055f * grow * folds + 0.035f * (1 - grow) * lying;
    return vec3_along(base, out, vec3_make(0, float_cos(turn), float_sin(turn)));
}

static void lay_rows(void *context, int64_t begin, int64_t end, int thread) {
    const cloth *sheet = (const cloth *)context;
    const uint32_t side = sheet->across + 1;
    const float length = flat + bend * (KD_PI / 2) + rise, step = 1e-3f;
    (void)thread;
    for (uint32_t row = (uint32_t)begin; row < (uint32_t)end; ++row)
        for (uint32_t column = 0; column <= sheet->across; ++column) {
            const float u = 2 * (float)column / (float)sheet->across - 1;
            const float t = length * (float)row / (float)sheet->along;
            const vec3 sideways =
                vec3_sub(cloth_at(sheet, u + step, t), cloth_at(sheet, u - step, t));
            const vec3 onwards =
                vec3_sub(cloth_at(sheet, u, t + step), cloth_at(sheet, u, t - step));
            const uint32_t i = row * side + column;
            sheet->made->positions[i] = cloth_at(sheet, u, t);
            sheet->made->normals[i] = vec3_normalize(vec3_cross(sideways, onwards));
            if (row == sheet->along || column == sheet->across) continue;
            const uint32_t corners[6] = {i, i + 1, i + side, i + side, i + 1, i + side + 1};
            const uint64_t first = 6 * ((uint64_t)row * sheet->across + column);
            for (uint32_t k = 0; k < 6; ++k)
                sheet->made->triangles[first + k] = sheet->made->normal_indices[first + k] =
                    corners[k];
        }
}

void procedural_cloth(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    material linen = material_default();
    linen.diffuse = vec3_make(0.6f, 0.57f, 0.5f);
    mesh_builder_material(builder, "cloth", &linen);
    const double cells = nearbyint(sqrt((double)triangles / 2));
    cloth cloth = {&builder->made, NULL, 0, 0};
    cloth.across = cells < 1 ? 1 : (uint32_t)cells;
    cloth.along = cloth.across;
    noise wrinkles = {NULL};
    cloth.wrinkles = &wrinkles;
    const uint64_t count = (uint64_t)(cloth.across + 1) * (cloth.along + 1);
    mesh_builder_extend(builder, count, 2 * (uint64_t)cloth.across * cloth.along);
    mesh_builder_extend_normals(builder, count);
    if (builder->status == KD_OK) builder->status = noise_open(&wrinkles, seed);
    if (builder->status == KD_OK) parallel_for(cloth.along + 1, 16, lay_rows, &cloth);
    noise_close(&wrinkles);
}
