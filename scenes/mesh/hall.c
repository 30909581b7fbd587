/* A vaulted hall: nave and two aisles, fluted columns, arches, a barrel vault with a skylight
   along its ridge, banners between the columns, a tiled floor. Units are metres; x is along the
   nave, y up. */
#include "scenes/mesh/generate.h"
#include "scenes/mesh/surfaces.h"

enum { HALL_BAYS = 7, HALL_TILES_X = 28, HALL_TILES_Z = 12 };

static const float hall_half_length = 14, hall_bay = 4, hall_half_nave = 3, hall_half_width = 6;
static const float hall_springing = 3.4f; /* height of the capitals, where the arches begin */
static const float hall_arch_radius = 1.6f, hall_wall_top = 7, hall_aisle_top = 5.6f;
static const float hall_wall = 0.25f; /* half the thickness of the arcade wall */
static const float hall_sky = 0.14f;  /* half angle of the skylight, radians */

typedef struct hall {
    mesh_builder *builder;
    uint32_t detail;
    uint32_t stone, light_stone, floor_dark, floor_light, banners[3], sky;
} hall;

static uint32_t add_material(mesh_builder *builder, const char *name, float r, float g, float b) {
    material made = material_default();
    made.diffuse = vec3_make(r, g, b);
    return mesh_builder_material(builder, name, &made);
}

static void add_materials(hall *hall) {
    mesh_builder *to = hall->builder;
    material sky = material_default();
    hall->stone = add_material(to, "stone", 0.62f, 0.56f, 0.47f);
    hall->light_stone = add_material(to, "plaster", 0.76f, 0.73f, 0.67f);
    hall->floor_dark = add_material(to, "floor_dark", 0.22f, 0.17f, 0.14f);
    hall->floor_light = add_material(to, "floor_light", 0.6f, 0.55f, 0.48f);
    hall->banners[0] = add_material(to, "banner_red", 0.55f, 0.06f, 0.05f);
    hall->banners[1] = add_material(to, "banner_blue", 0.06f, 0.12f, 0.42f);
    hall->banners[2] = add_material(to, "banner_gold", 0.66f, 0.43f, 0.08f);
    sky.diffuse = vec3_all(0.5f);
    sky.emission = vec3_make(22, 21, 19);
    hall->sky = mesh_builder_material(to, "skylight", &sky);
}

static vec3 lerp3(vec3 a, vec3 b, float t) {
    return vec3_along(a, t, vec3_sub(b, a));
}

static void box(const hall *hall, vec3 lo, vec3 hi) {
    const transform unmoved = transform_identity();
    mesh_builder_box(hall->builder, lo, hi, &unmoved);
}

static void add(const hall *hall, vec3 (*at)(const void *, float, float), const void *context,
                uint32_t columns, uint32_t rows) {
    const patch shape = {at, context, columns, rows, vec2_make(1, 1)};
    patch_add(hall->builder, &shape);
}

/* --- columns ---------------------------------------------------------------------------------- */

typedef struct column {
    vec3 foot;
    float low, high;
    bool capital;
} column;

/* A shaft with twenty flutes and a slight entasis, or a capital that flares out to the abacus. */
static vec3 column_at(const void *context, float u, float v) {
    const column *pillar = (const column *)context;
    const float turn = 2 * KD_PI * (u < 1 ? u : 0);
    float radius = 0.34f - 0.05f * v * v;
    if (pillar->capital)
        radius = 0.3f + 0.13f * v * v * (3 - 2 * v);
    else
        radius -= 0.022f * fabsf(sinf(10 * turn));
    const float y = pillar->low + v * (pillar->high - pillar->low);
    return vec3_add(pillar->foot, vec3_make(radius * cosf(turn), y, -radius * sinf(turn)));
}

static void add_column(const hall *hall, float x, float z) {
    const uint32_t d = hall->detail, around = d < 4 ? 8 * d : 20 * ((6 * d + 19) / 20);
    const column shaft = {vec3_make(x, 0, z), 0.3f, 2.8f, false};
    const column capital = {vec3_make(x, 0, z), 2.8f, 3.25f, true};
    hall->builder->material = hall->stone;
    box(hall, vec3_make(x - 0.45f, 0, z - 0.45f), vec3_make(x + 0.45f, 0.22f, z + 0.45f));
    box(hall, vec3_make(x - 0.38f, 0.22f, z - 0.38f), vec3_make(x + 0.38f, 0.3f, z + 0.38f));
    add(hall, column_at, &shaft, around, 2 * d);
    add(hall, column_at, &capital, around, d);
    box(hall, vec3_make(x - 0.45f, 3.25f, z - 0.45f), vec3_make(x + 0.45f, 3.4f, z + 0.45f));
}

/* --- arcades ---------------------------------------------------------------------------------- */

typedef struct arch {
    float centre; /* along x */
    float z[2];   /* both edges of the surface */
} arch;

static vec3 arch_curve(const arch *arch, float t, float z) {
    const float turn = KD_PI * (1 - t);
    return vec3_make(arch->centre + hall_arch_radius * cosf(turn),
                     hall_springing + hall_arch_radius * sinf(turn), z);
}

/* The wall above the arch; its front faces the side of z[0]. */
static vec3 spandrel_at(const void *context, float u, float v) {
    const arch *shape = (const arch *)context;
    const float t = shape->z[0] > shape->z[1] ? u : 1 - u;
    const vec3 low = arch_curve(shape, t, shape->z[0]);
    return lerp3(low, vec3_make(low.x, hall_wall_top, low.z), v);
}

static vec3 soffit_at(const void *context, float u, float v) {
    const arch *shape = (const arch *)context;
    return arch_curve(shape, u, shape->z[0] + v * (shape->z[1] - shape->z[0]));
}

/* One bay of the arcade wall, at z = side x 3. */
static void add_arcade(const hall *hall, float start, float side) {
    const float middle = side * hall_half_nave, centre = start + hall_bay / 2;
    const float near = middle + hall_wall, far = middle - hall_wall;
    const arch front = {centre, {near, far}}, back = {centre, {far, near}};
    const uint32_t d = hall->detail;
    hall->builder->material = hall->light_stone;
    add(hall, spandrel_at, &front, 4 * d, d);
    add(hall, spandrel_at, &back, 4 * d, d);
    hall->builder->material = hall->stone;
    add(hall, soffit_at, &front, 4 * d, 1 + d / 4);
    hall->builder->material = hall->light_stone;
    const float half = hall_bay / 2 - hall_arch_radius;
    box(hall, vec3_make(start, hall_springing, far), vec3_make(start + half, hall_wall_top, near));
    box(hall, vec3_make(start + hall_bay - half, hall_springing, far),
        vec3_make(start + hall_bay, hall_wall_top, near));
    hall->builder->material = hall->stone; /* cornice under the vault */
    box(hall, vec3_make(start, hall_wall_top - 0.25f, middle - 0.35f),
        vec3_make(start + hall_bay, hall_wall_top, middle + 0.35f));
}

/* --- vault ------------------------------------------------------------------------------------ */

typedef struct vault {
    float x[2], turns[2], radius;
} vault;

/* The front faces downwards. */
static vec3 vault_at(const void *context, float u, float v) {
    const vault *shape = (const vault *)context;
    const float turn = shape->turns[0] + v * (shape->turns[1] - shape->turns[0]);
    return vec3_make(shape->x[0] + u * (shape->x[1] - shape->x[0]),
                     hall_wall_top + shape->radius * sinf(turn), shape->radius * cosf(turn));
}

static void add_vault(const hall *hall, float start) {
    const uint32_t d = hall->detail;
    const float end = start + hall_bay, ridge = KD_PI / 2;
    const vault east = {{start, end}, {0, ridge - hall_sky}, hall_half_nave};
    const vault west = {{start, end}, {ridge + hall_sky, KD_PI}, hall_half_nave};
    hall->builder->material = hall->light_stone;
    add(hall, vault_at, &east, 2 * d, 3 * d);
    add(hall, vault_at, &west, 2 * d, 3 * d);
    hall->builder->material = hall->sky;
    const float y = hall_wall_top + hall_half_nave * cosf(hall_sky);
    const float z = hall_half_nave * sinf(hall_sky);
    mesh_builder_quad(hall->builder, vec3_make(start, y, -z), vec3_make(end, y, -z),
                      vec3_make(end, y, z), vec3_make(start, y, z), vec2_make(1, 1));
}

/* The flank of a rib across the nave, from the springing to the skylight. */
static vec3 rib_flank_at(const void *context, float u, float v) {
    const vault *shape = (const vault *)context;
    const float turn = shape->turns[0] + v * (shape->turns[1] - shape->turns[0]);
    const float radius = shape->radius + u * 0.2f;
    return vec3_make(shape->x[0], hall_wall_top + radius * sinf(turn), radius * cosf(turn));
}

static void add_rib(const hall *hall, float x) {
    const uint32_t d = hall->detail;
    hall->builder->material = hall->stone;
    for (int half = 0; half < 2; ++half) {
        const float ridge = KD_PI / 2;
        const float from = half ? ridge + hall_sky : 0, to = half ? KD_PI : ridge - hall_sky;
        const vault face = {{x - 0.2f, x + 0.2f}, {from, to}, hall_half_nave - 0.2f};
        vault flank = face;
        add(hall, vault_at, &face, 1, 3 * d);
        flank.x[0] = x + 0.2f;
        add(hall, rib_flank_at, &flank, 1, 3 * d);
        flank.x[0] = x - 0.2f;
        flank.turns[0] = to;
        flank.turns[1] = from;
        add(hall, rib_flank_at, &flank, 1, 3 * d);
    }
}

/* --- shell ------------------------------------------------------------------------------------ */

static vec3 gable_at(const void *context, float u, float v) {
    const float *x = (const float *)context;
    /* u increases to the left when seen from inside */
    const float turn = *x < 0 ? KD_PI * (1 - u) : KD_PI * u;
    const vec3 edge =
        vec3_make(*x, hall_wall_top + hall_half_nave * sinf(turn), -hall_half_nave * cosf(turn));
    return lerp3(vec3_make(*x, hall_wall_top, edge.z), edge, v);
}

static void add_ends(const hall *hall) {
    for (int end = 0; end < 2; ++end) {
        const float x = end ? hall_half_length : -hall_half_length, s = end ? 1.0f : -1.0f;
        const float w = hall_half_width, top = hall_wall_top;
        mesh_builder_quad(hall->builder, vec3_make(x, 0, s * -w), vec3_make(x, 0, s * w),
                          vec3_make(x, top, s * w), vec3_make(x, top, s * -w), vec2_make(1, 1));
        add(hall, gable_at, &x, 4 * hall->detail, 1);
    }
}

static void add_sides(const hall *hall, float side) {
    const float l = hall_half_length, w = side * hall_half_width, top = hall_aisle_top;
    const float inner = side * (hall_half_nave + hall_wall), s = side;
    const vec2 uv = vec2_make(1, 1);
    mesh_builder_quad(hall->builder, vec3_make(s * l, 0, w), vec3_make(s * -l, 0, w),
                      vec3_make(s * -l, top, w), vec3_make(s * l, top, w), uv);
    mesh_builder_quad(hall->builder, vec3_make(s * l, top, w), vec3_make(s * -l, top, w),
                      vec3_make(s * -l, top, inner), vec3_make(s * l, top, inner), uv);
    for (int i = 0; i <= HALL_BAYS; ++i) {
        const float x = -hall_half_length + hall_bay * (float)i;
        const float a = w - side * 0.2f;
        box(hall, vec3_make(x - 0.3f, 0, float_min(a, w)),
            vec3_make(x + 0.3f, top, float_max(a, w)));
    }
}

/* Square tiles of 1 m in two colours. */
static void add_floor(const hall *hall) {
    const uint32_t n = 1 + hall->detail / 4;
    const float step = 1.0f / (float)n;
    for (uint32_t i = 0; i < HALL_TILES_X * n; ++i)
        for (uint32_t j = 0; j < HALL_TILES_Z * n; ++j) {
            const float x = (float)i * step - hall_half_length;
            const float z = (float)j * step - hall_half_width;
            hall->builder->material = (i / n + j / n) % 2 ? hall->floor_dark : hall->floor_light;
            mesh_builder_quad(hall->builder, vec3_make(x, 0, z + step),
                              vec3_make(x + step, 0, z + step), vec3_make(x + step, 0, z),
                              vec3_make(x, 0, z), vec2_make(1, 1));
        }
}

/* --- banners ---------------------------------------------------------------------------------- */

/* Cloth hanging from a rod, in folds that deepen downwards. */
static vec3 banner_at(const void *context, float u, float v) {
    const vec3 *middle = (const vec3 *)context;
    const float depth = 0.04f + 0.1f * v, phase = middle->x * 1.7f + middle->z;
    const float fold = sinf(5.5f * KD_PI * u + phase) + 0.4f * sinf(3 * v + 9 * u + phase);
    const float sag = 0.12f * cosf(KD_PI * (u - 0.5f)) * v;
    return vec3_make(middle->x + (u - 0.5f) * 1.5f, middle->y - 2.3f * v - sag,
                     middle->z + depth * fold);
}

static void add_banner(const hall *hall, int bay, float side) {
    const float x = -hall_half_length + hall_bay * ((float)bay + 0.5f);
    const vec3 middle = vec3_make(x, 4.7f, side * (hall_half_nave - 0.05f));
    hall->builder->material = hall->banners[(bay + (side > 0)) % 3];
    add(hall, banner_at, &middle, 3 * hall->detail, 3 * hall->detail);
    hall->builder->material = hall->stone;
    box(hall, vec3_make(x - 0.8f, 4.68f, middle.z - 0.03f),
        vec3_make(x + 0.8f, 4.74f, middle.z + 0.03f));
}

void procedural_hall(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    (void)seed;
    hall in;
    memset(&in, 0, sizeof in);
    in.builder = builder;
    /* the hall has about 1280 detail^2 triangles */
    const double detail = nearbyint(sqrt((double)triangles / 1280));
    in.detail = detail < 1 ? 1 : (uint32_t)detail;
    add_materials(&in);
    add_floor(&in);
    in.builder->material = in.light_stone;
    add_ends(&in);
    for (int side = -1; side <= 1; side += 2) {
        in.builder->material = in.light_stone;
        add_sides(&in, (float)side);
        for (int i = 0; i <= HALL_BAYS; ++i)
            add_column(&in, -hall_half_length + hall_bay * (float)i, (float)side * hall_half_nave);
        for (int i = 0; i < HALL_BAYS; ++i) {
            add_arcade(&in, -hall_half_length + hall_bay * (float)i, (float)side);
            add_banner(&in, i, (float)side);
        }
    }
    for (int i = 0; i < HALL_BAYS; ++i) {
        add_vault(&in, -hall_half_length + hall_bay * (float)i);
        if (i > 0) add_rib(&in, -hall_half_length + hall_bay * (float)i);
    }
}
