/* A cloth that lies on a table and hangs down behind it, in folds: for still lifes. It covers x
   from -2.2 to 2.2; it lies about y = 0 from z = 1.4 to -0.8, bends, and hangs in z = -1.15 up to y
   = 2.25. */
#include "core/math/elementary.h"
#include "core/math/noise.h"
#include "core/parallel/parallel.h"
#include "scenes/generate/generate.h"

static const float half_width = 2.2f, front = 1.4f, flat = 2.2f, bend = 0.35f, rise = 1.9f;

typedef struct cloth {
    mesh *made;
    const noise *wrinkles;
    uint32_t across, along; /* cells */
} cloth;

static float smooth_step(float t) {
    t = float_clamp(t, 0, 1);
    return t * t * (3 - 2 * t);
}

/* u: -1 to 1 across, t: metres along from the front. */
static vec3 cloth_at(const cloth *of, float u, float t) {
    const float turn = float_clamp((t - flat) / bend, 0, KD_PI / 2);
    const float hung = float_max(t - flat - bend * (KD_PI / 2), 0);
    const vec3 base = vec3_make(half_width * u, bend * (1 - float_cos(turn)) + hung,
                                front - float_min(t, flat) - bend * float_sin(turn));
    const float grow = smooth_step((t - 1.3f) / 2.2f);
    const float x = u + 0.09f * noise_octaves(of->wrinkles, vec3_make(1.3f * u, 0.4f * t, 4), 1, 2);
    const float folds =
        float_sin(11 * x) + 0.55f * float_sin(23 * x + 1.3f) + 0.3f * float_sin(37 * x + 0.4f);
    const float lying =
        noise_octaves(of->wrinkles, vec3_make(1.1f * base.x, 0.5f, 0.8f * base.z), 1, 4);
    const float out = 0.055f * grow * folds + 0.035f * (1 - grow) * lying;
    return vec3_along(base, out, vec3_make(0, float_cos(turn), float_sin(turn)));
}

static void lay_rows(void *context, int64_t begin, int64_t end, int thread) {
    const cloth *of = (const cloth *)context;
    const uint32_t side = of->across + 1;
    const float length = flat + bend * (KD_PI / 2) + rise, step = 1e-3f;
    (void)thread;
    for (uint32_t row = (uint32_t)begin; row < (uint32_t)end; ++row)
        for (uint32_t column = 0; column <= of->across; ++column) {
            const float u = 2 * (float)column / (float)of->across - 1;
            const float t = length * (float)row / (float)of->along;
            const vec3 sideways = vec3_sub(cloth_at(of, u + step, t), cloth_at(of, u - step, t));
            const vec3 onwards = vec3_sub(cloth_at(of, u, t + step), cloth_at(of, u, t - step));
            const uint32_t i = row * side + column;
            of->made->positions[i] = cloth_at(of, u, t);
            of->made->normals[i] = vec3_normalize(vec3_cross(sideways, onwards));
            if (row == of->along || column == of->across) continue;
            const uint32_t corners[6] = {i, i + 1, i + side, i + side, i + 1, i + side + 1};
            const uint64_t first = 6 * ((uint64_t)row * of->across + column);
            for (uint32_t k = 0; k < 6; ++k)
                of->made->triangles[first + k] = of->made->normal_indices[first + k] = corners[k];
        }
}

void procedural_cloth(mesh_builder *to, uint64_t triangles, uint64_t seed) {
    material linen = material_default();
    linen.diffuse = vec3_make(0.6f, 0.57f, 0.5f);
    mesh_builder_material(to, "cloth", &linen);
    const double cells = nearbyint(sqrt((double)triangles / 2));
    cloth of = {&to->made, NULL, 0, 0};
    of.across = cells < 1 ? 1 : (uint32_t)cells;
    of.along = of.across;
    noise wrinkles = {NULL};
    of.wrinkles = &wrinkles;
    const uint64_t count = (uint64_t)(of.across + 1) * (of.along + 1);
    mesh_builder_extend(to, count, 2 * (uint64_t)of.across * of.along);
    mesh_builder_extend_normals(to, count);
    if (to->status == KD_OK) to->status = noise_open(&wrinkles, seed);
    if (to->status == KD_OK) parallel_for(of.along + 1, 16, lay_rows, &of);
    noise_close(&wrinkles);
}
