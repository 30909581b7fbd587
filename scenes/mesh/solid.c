/* Small solids that cast caustics, and the Cornell box. */
#include "scenes/mesh/generate.h"
#include "scenes/mesh/surfaces.h"

enum { RING_BEVEL = 4 };

/* A ring of inner radius 1, wall 0.04 and height 0.5, with rounded rims. */
void procedural_ring(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    const float middle = 1.02f, half = 0.02f;
    lathe_point profile[2 * (RING_BEVEL + 1)];
    uint32_t count = 0;
    material gold = material_default();
    (void)seed;
    gold.kind = MATERIAL_CONDUCTOR;
    gold.specular = vec3_make(0.95f, 0.79f, 0.45f);
    gold.roughness = 0;
    mesh_builder_material(builder, "metal", &gold);
    for (int rim = 0; rim < 2; ++rim) /* lower rim from inside to outside, then the upper one */
        for (int i = 0; i <= RING_BEVEL; ++i) {
            const float turn = KD_PI * (float)i / RING_BEVEL;
            lathe_point *at = &profile[count++];
            at->radius = middle + half * (rim ? cosf(turn) : -cosf(turn));
            at->height = (rim ? 0.48f : 0.02f) + half * (rim ? sinf(turn) : -sinf(turn));
            at->material = builder->material;
        }
    lathe shape = {.profile = profile, .point_count = count, .ring = true};
    shape.segments = lathe_segments(&shape, triangles, 12);
    lathe_turn(builder, &shape);
}

/* A tumbler of radius 0.5 and height 1.2 on y = 0, filled to 0.8. Each interface is one surface:
   glass in air, glass in water (the front faces the water, so its index is glass over water),
   water in air. All three share the circle of the waterline. */
void procedural_glass(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    material clear = material_default();
    (void)seed;
    clear.kind = MATERIAL_GLASS;
    clear.specular = vec3_all(1);
    clear.ior = 1.5f;
    const uint32_t in_air = mesh_builder_material(builder, "glass", &clear);
    clear.ior = 1.5f / 1.333f;
    const uint32_t in_water = mesh_builder_material(builder, "glass_water", &clear);
    clear.ior = 1.333f;
    const uint32_t water = mesh_builder_material(builder, "water", &clear);
    const lathe_point profile[] = {
        {0, 0, in_air},           {0.42f, 0, in_air},        {0.455f, 0.012f, in_air},
        {0.47f, 0.045f, in_air},  {0.5f, 1.185f, in_air},    {0.494f, 1.196f, in_air},
        {0.48f, 1.2f, in_air},    {0.468f, 1.196f, in_air},  {0.462f, 1.185f, in_air},
        {0.452f, 0.8f, in_water}, {0.436f, 0.16f, in_water}, {0.425f, 0.128f, in_water},
        {0.4f, 0.11f, in_water},  {0, 0.1f, in_water}};
    lathe shape = {.profile = profile, .point_count = sizeof profile / sizeof *profile};
    const lathe_point surface_profile[] = {{0.452f, 0.8f, water}, {0, 0.8f, water}};
    lathe surface = {.profile = surface_profile, .point_count = 2};
    shape.segments = surface.segments = lathe_segments(&shape, triangles, 12);
    lathe_turn(builder, &shape);
    lathe_turn(builder, &surface);
}

/* An equilateral prism of side 1 and length 2 along z, standing on y = 0 with one edge up. */
void procedural_wedge(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    const float top = 0.8660254f;
    const vec3 a = vec3_make(-0.5f, 0, 1), b = vec3_make(0.5f, 0, 1), c = vec3_make(0, top, 1);
    const vec3 d = vec3_make(-0.5f, 0, -1), e = vec3_make(0.5f, 0, -1), f = vec3_make(0, top, -1);
    const vec2 uv = vec2_make(1, 1);
    (void)triangles, (void)seed;
    material clear = material_default();
    clear.kind = MATERIAL_GLASS;
    clear.specular = vec3_all(1);
    clear.ior = 1.5f;
    mesh_builder_material(builder, "glass", &clear);
    mesh_builder_flat_triangle(builder, a, b, c);
    mesh_builder_flat_triangle(builder, d, f, e);
    mesh_builder_quad(builder, a, d, e, b, uv);
    mesh_builder_quad(builder, b, e, f, c, uv);
    mesh_builder_quad(builder, d, a, c, f, uv);
}

/* --- a box with coloured walls, open towards +z, 2 x 2 x 2 on y = 0 --------------------------- */

/* A block of the given height on a square of half side 0.3, rotated by `degrees`. */
static void cornell_block(mesh_builder *builder, vec3 foot, float height, double degrees) {
    const transform turned = transform_rotate(vec3_make(0, 1, 0), degrees);
    const transform moved = transform_translate(foot);
    const transform placed = transform_compose(&moved, &turned);
    mesh_builder_box(builder, vec3_make(-0.3f, 0, -0.3f), vec3_make(0.3f, height, 0.3f), &placed);
}

static void cornell_walls(mesh_builder *builder) {
    static const float colours[4][3] = {
        {0.63f, 0.065f, 0.05f}, {0.14f, 0.45f, 0.091f}, {0.725f, 0.71f, 0.68f}, {0, 0, 0}};
    static const char *const names[4] = {"red", "green", "white", "light"};
    uint32_t made[4];
    for (int i = 3; i >= 0; --i) {
        material record = material_default();
        record.diffuse = vec3_make(colours[i][0], colours[i][1], colours[i][2]);
        if (i == 3) record.emission = vec3_make(17, 12, 4);
        made[i] = mesh_builder_material(builder, names[i], &record);
    }
    vec3 c[8];
    for (int i = 0; i < 8; ++i)
        c[i] = vec3_make(i & 1 ? 1.0f : -1.0f, i & 2 ? 2.0f : 0.0f, i & 4 ? 1.0f : -1.0f);
    const vec2 uv = vec2_make(1, 1);
    const float side = 0.25f, below = 1.99f;
    builder->material = made[3];
    mesh_builder_quad(builder, vec3_make(-side, below, -side), vec3_make(side, below, -side),
                      vec3_make(side, below, side), vec3_make(-side, below, side), uv);
    builder->material = made[0];
    mesh_builder_quad(builder, c[0], c[2], c[6], c[4], uv);
    builder->material = made[1];
    mesh_builder_quad(builder, c[1], c[5], c[7], c[3], uv);
    builder->material = made[2];
    mesh_builder_quad(builder, c[0], c[4], c[5], c[1], uv);
    mesh_builder_quad(builder, c[0], c[1], c[3], c[2], uv);
    mesh_builder_quad(builder, c[2], c[3], c[7], c[6], uv);
}

void procedural_cornell(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    (void)triangles, (void)seed;
    cornell_walls(builder);
    cornell_block(builder, vec3_make(0.35f, 0, 0.4f), 0.6f, -17);
    cornell_block(builder, vec3_make(-0.35f, 0, -0.3f), 1.2f, 20);
}
