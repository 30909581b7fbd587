#include "core/math/noise.h"
#include "core/math/rng.h"
#include "core/parallel/parallel.h"
#include "scenes/generate/generate.h"

/* --- soup: random triangles, their size such that their total area stays about the same ---------
 */

typedef struct soup {
    mesh *made;
    uint64_t seed;
    float size;
} soup;

static void throw_triangles(void *context, int64_t begin, int64_t end, int thread) {
    const soup *of = (const soup *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const rng_key key = rng_key_make(of->seed, 3, (uint64_t)i);
        const rng_block at = rng_draw(key, 0, 0);
        const vec3 centre = vec3_make(at.value[0], at.value[1], at.value[2]);
        for (uint32_t corner = 0; corner < 3; ++corner) {
            const rng_block r = rng_draw(key, 0, 1 + corner);
            const vec3 offset = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
            of->made->positions[3 * i + corner] = vec3_along(centre, of->size, offset);
            of->made->triangles[3 * i + corner] = (uint32_t)(3 * i + corner);
        }
    }
}

void procedural_soup(mesh_builder *to, uint64_t triangles, uint64_t seed) {
    soup of = {&to->made, seed, (float)(2 / sqrt((double)triangles))};
    if (of.size > 0.5f) of.size = 0.5f;
    mesh_builder_extend(to, 3 * triangles, triangles);
    if (to->status == KD_OK) parallel_for((int64_t)triangles, 4096, throw_triangles, &of);
}

/* --- terrain: 10 x 10, heights by seven octaves of noise ----------------------------------------
 */

typedef struct terrain {
    mesh *made;
    const noise *hills;
    uint32_t k; /* cells a side */
} terrain;

static float height_at(const terrain *of, float x, float z) {
    return noise_octaves(of->hills, vec3_make(0.35f * x, 0.5f, 0.35f * z), 1.2f, 7);
}

static void raise_rows(void *context, int64_t begin, int64_t end, int thread) {
    const terrain *of = (const terrain *)context;
    const uint32_t k = of->k, side = k + 1;
    const float step = 10.0f / (float)k;
    (void)thread;
    for (uint32_t row = (uint32_t)begin; row < (uint32_t)end; ++row)
        for (uint32_t column = 0; column <= k; ++column) {
            const float x = (float)column * step - 5, z = (float)row * step - 5;
            const float slope_x = height_at(of, x + step, z) - height_at(of, x - step, z);
            const float slope_z = height_at(of, x, z + step) - height_at(of, x, z - step);
            const uint32_t number = row * side + column;
            of->made->positions[number] = vec3_make(x, height_at(of, x, z), z);
            of->made->normals[number] = vec3_normalize(vec3_make(-slope_x, 2 * step, -slope_z));
        }
}

static void join_cells(void *context, int64_t begin, int64_t end, int thread) {
    const terrain *of = (const terrain *)context;
    const uint32_t k = of->k, side = k + 1;
    (void)thread;
    for (uint32_t row = (uint32_t)begin; row < (uint32_t)end; ++row)
        for (uint32_t column = 0; column < k; ++column) {
            const uint32_t a = row * side + column, b = a + side, c = b + 1, d = a + 1;
            const uint32_t corners[6] = {a, b, c, a, c, d};
            const uint64_t slot = 6 * ((uint64_t)row * k + column);
            memcpy(of->made->triangles + slot, corners, sizeof corners);
            memcpy(of->made->normal_indices + slot, corners, sizeof corners);
        }
}

void procedural_terrain(mesh_builder *to, uint64_t triangles, uint64_t seed) {
    noise hills = {NULL};
    const double k = nearbyint(sqrt((double)triangles / 2));
    terrain of = {&to->made, &hills, k < 1 ? 1 : (uint32_t)k};
    const uint64_t points = ((uint64_t)of.k + 1) * ((uint64_t)of.k + 1);
    material earth = material_default();
    earth.diffuse = vec3_make(0.42f, 0.4f, 0.3f);
    mesh_builder_material(to, "earth", &earth);
    mesh_builder_extend(to, points, 2 * (uint64_t)of.k * of.k);
    mesh_builder_extend_normals(to, points);
    if (to->status == KD_OK) to->status = noise_open(&hills, seed);
    if (to->status == KD_OK) {
        parallel_for((int64_t)of.k + 1, 4, raise_rows, &of);
        parallel_for((int64_t)of.k, 4, join_cells, &of);
    }
    noise_close(&hills);
}
