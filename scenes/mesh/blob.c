/* Procedural spheres, blobs (spheres with noise), and a room filled with blobs.
   Idea: the surface lattice of a cube with k cells per edge is projected to the sphere; face
     coordinates tan((2 i / k - 1) pi / 4) make the cells nearly equal in size. Points are numbered
     by their lattice position, so that faces share the vertices of their common edge: the mesh is
     closed by construction, with 6 k^2 + 2 vertices and 12 k^2 triangles. */
#include "core/math/noise.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/mesh/generate.h"

typedef struct cube_sphere {
    uint32_t k; /* cells per edge */
    vec3 centre;
    float radius;
    const noise *bumps; /* NULL: a plain sphere */
    vec3 noise_origin;  /* offset in the noise, different for each blob */
    /* set by add_cube_sphere */
    double *coordinates; /* k + 1 face coordinates */
    mesh *made;
    uint32_t first_position, first_normal, first_triangle;
} cube_sphere;

/* Returns the vertex number of the lattice point (a, b, c), each 0..k and at least one of them 0
   or k. Numbering: the bottom layer, then one ring per layer, then the top layer. */
static uint32_t lattice_number(uint32_t k, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t side = k + 1, layer = side * side;
    if (c == 0) return b * side + a;
    const uint32_t rings = layer + (c - 1) * 4 * k;
    if (c == k) return rings + b * side + a;
    return rings + (b == 0 ? a : a == k ? k + b : b == k ? 2 * k + (k - a) : 3 * k + (k - b));
}

static vec3 blob_position(const cube_sphere *sphere, vec3 direction) {
    float radius = sphere->radius;
    if (sphere->bumps) {
        const vec3 at = vec3_along(sphere->noise_origin, 1.7f, direction);
        radius *= 1 + noise_octaves(sphere->bumps, at, 0.35f, 6);
    }
    return vec3_along(sphere->centre, radius, direction);
}

static void place_point(const cube_sphere *sphere, uint32_t a, uint32_t b, uint32_t c) {
    const double x = sphere->coordinates[a], y = sphere->coordinates[b], z = sphere->coordinates[c];
    const double length = sqrt(x * x + y * y + z * z);
    const vec3 direction = vec3_make((float)(x / length), (float)(y / length), (float)(z / length));
    const uint32_t number = lattice_number(sphere->k, a, b, c);
    sphere->made->positions[sphere->first_position + number] = blob_position(sphere, direction);
    if (!sphere->bumps) sphere->made->normals[sphere->first_normal + number] = direction;
}

/* Places lattice layers: full squares at both ends, rings between. */
static void place_layers(void *context, int64_t begin, int64_t end, int thread) {
    const cube_sphere *sphere = (const cube_sphere *)context;
    const uint32_t k = sphere->k;
    (void)thread;
    for (uint32_t c = (uint32_t)begin; c < (uint32_t)end; ++c) {
        const bool whole = c == 0 || c == k;
        for (uint32_t b = 0; b <= k; ++b)
            for (uint32_t a = 0; a <= k; a += whole || b == 0 || b == k ? 1 : k)
                place_point(sphere, a, b, c);
    }
}

static void set_triangle(const cube_sphere *sphere, uint64_t triangle, uint32_t p, uint32_t q,
                         uint32_t r) {
    const uint32_t numbers[3] = {p, q, r};
    for (uint64_t corner = 0; corner < 3; ++corner) {
        const uint64_t slot = 3 * (sphere->first_triangle + triangle) + corner;
        sphere->made->triangles[slot] = sphere->first_position + numbers[corner];
        if (!sphere->bumps)
            sphere->made->normal_indices[slot] = sphere->first_normal + numbers[corner];
    }
}

/* Writes the triangles of rows of cells, face by face in the order -x +x -y +y -z +z. */
static void join_rows(void *context, int64_t begin, int64_t end, int thread) {
    const cube_sphere *sphere = (const cube_sphere *)context;
    const uint32_t k = sphere->k;
    (void)thread;
    for (int64_t row = begin; row < end; ++row) {
        const uint32_t face = (uint32_t)(row / k), v = (uint32_t)(row % k), axis = face / 2;
        for (uint32_t u = 0; u < k; ++u) {
            uint32_t numbers[4];
            for (uint32_t i = 0; i < 4; ++i) {
                uint32_t at[3];
                at[axis] = face % 2 ? k : 0;
                at[(axis + 1) % 3] = u + (i == 1 || i == 2);
                at[(axis + 2) % 3] = v + (i >= 2);
                numbers[face % 2 ? i : 3 - i] = lattice_number(k, at[0], at[1], at[2]);
            }
            const uint64_t cell = (uint64_t)row * k + u;
            set_triangle(sphere, 2 * cell, numbers[0], numbers[1], numbers[2]);
            set_triangle(sphere, 2 * cell + 1, numbers[0], numbers[2], numbers[3]);
        }
    }
}

/* Returns the number of cells per edge that comes closest to the number of triangles. */
static uint32_t cells_for(double triangles) {
    const double k = nearbyint(sqrt(triangles / 12));
    return k < 1 ? 1 : (uint32_t)k;
}

static void add_cube_sphere(mesh_builder *builder, cube_sphere *sphere) {
    const uint32_t k = sphere->k;
    const uint64_t points = 6 * (uint64_t)k * k + 2;
    sphere->first_position = builder->made.position_count;
    sphere->first_normal = builder->made.normal_count;
    sphere->first_triangle = builder->made.triangle_count;
    mesh_builder_extend(builder, points, 12 * (uint64_t)k * k);
    if (!sphere->bumps) mesh_builder_extend_normals(builder, points);
    if (builder->status == KD_OK)
        builder->status = KD_RESERVE(sphere->coordinates, (uint64_t)k + 1);
    if (builder->status != KD_OK) return;
    for (uint32_t i = 0; i <= k; ++i) {
        const double turn = 2.0 * i / k - 1; /* ends and middle are exact, both halves symmetric */
        const double value = tan(fabs(turn) * 0.78539816339744830962);
        sphere->coordinates[i] = fabs(turn) == 1 ? turn : copysign(value, turn);
    }
    sphere->made = &builder->made;
    parallel_for((int64_t)k + 1, 8, place_layers, sphere);
    parallel_for(6 * (int64_t)k, 8, join_rows, sphere);
    memory_free(sphere->coordinates);
}

void procedural_sphere(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    (void)seed;
    cube_sphere ball;
    memset(&ball, 0, sizeof ball);
    ball.k = cells_for((double)triangles);
    ball.radius = 1;
    add_cube_sphere(builder, &ball);
}

void procedural_blob(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    noise bumps = {NULL};
    cube_sphere blob;
    memset(&blob, 0, sizeof blob);
    blob.k = cells_for((double)triangles);
    blob.radius = 1;
    blob.bumps = &bumps;
    if (builder->status == KD_OK) builder->status = noise_open(&bumps, seed);
    if (builder->status == KD_OK) add_cube_sphere(builder, &blob);
    noise_close(&bumps);
}

/* --- a room, 20 x 8 x 14 ---------------------------------------------------------------------- */

enum { ROOM_BEAMS = 60, ROOM_BLOBS = 96 };

static void room_materials(mesh_builder *builder, uint32_t made[4]) {
    material record = material_default();
    record.diffuse = vec3_make(0.45f, 0.42f, 0.38f);
    made[0] = mesh_builder_material(builder, "beam", &record);
    record.diffuse = vec3_make(0.6f, 0.35f, 0.25f);
    made[1] = mesh_builder_material(builder, "blob", &record);
    record.diffuse = vec3_all(0.75f);
    made[2] = mesh_builder_material(builder, "wall", &record);
    record.emission = vec3_make(2.2f, 2.1f, 1.9f);
    made[3] = mesh_builder_material(builder, "lamp", &record);
}

/* An inverted box: front faces point inwards. The ceiling is the lamp. */
static void room_shell(mesh_builder *builder, const uint32_t made[4]) {
    const vec3 size = vec3_make(20, 8, 14);
    vec3 c[8];
    for (int i = 0; i < 8; ++i)
        c[i] = vec3_make(i & 1 ? size.x : 0, i & 2 ? size.y : 0, i & 4 ? size.z : 0);
    const vec2 uv = vec2_make(1, 1);
    builder->material = made[2];
    mesh_builder_quad(builder, c[0], c[2], c[6], c[4], uv);
    mesh_builder_quad(builder, c[1], c[5], c[7], c[3], uv);
    mesh_builder_quad(builder, c[0], c[4], c[5], c[1], uv);
    mesh_builder_quad(builder, c[0], c[1], c[3], c[2], uv);
    mesh_builder_quad(builder, c[4], c[6], c[7], c[5], uv);
    builder->material = made[3];
    mesh_builder_quad(builder, c[2], c[3], c[7], c[6], uv);
}

/* Two crossed strips of width 0.12 from floor to ceiling. */
static void room_beam(mesh_builder *builder, rng_key key) {
    const rng_block r = rng_draw(key, 0, 0);
    const vec3 foot = vec3_make(1 + 18 * r.value[0], 0, 1 + 12 * r.value[1]);
    const vec3 head = vec3_make(1 + 18 * r.value[2], 8, 1 + 12 * r.value[3]);
    const vec3 across[2] = {vec3_make(0.06f, 0, 0), vec3_make(0, 0, 0.06f)};
    for (int i = 0; i < 2; ++i)
        mesh_builder_quad(builder, vec3_sub(foot, across[i]), vec3_add(foot, across[i]),
                          vec3_add(head, across[i]), vec3_sub(head, across[i]), vec2_make(1, 66));
}

void procedural_capacity(mesh_builder *builder, uint64_t triangles, uint64_t seed) {
    uint32_t made[4];
    noise bumps = {NULL};
    const double rest = (double)triangles - 12 - 4 * ROOM_BEAMS;
    room_materials(builder, made);
    room_shell(builder, made);
    builder->material = made[0];
    for (uint32_t i = 0; i < ROOM_BEAMS; ++i) room_beam(builder, rng_key_make(seed, 1, i));
    builder->material = made[1];
    if (builder->status == KD_OK) builder->status = noise_open(&bumps, seed);
    for (uint32_t i = 0; i < ROOM_BLOBS && builder->status == KD_OK; ++i) {
        const rng_block r = rng_draw(rng_key_make(seed, 2, i), 0, 0);
        cube_sphere blob;
        memset(&blob, 0, sizeof blob);
        blob.k = cells_for(rest > 0 ? rest / ROOM_BLOBS : 1);
        blob.centre =
            vec3_make(1.5f + 17 * r.value[0], 1.5f + 5 * r.value[1], 1.5f + 11 * r.value[2]);
        blob.radius = 0.08f + 0.75f * float_square(r.value[3]);
        blob.bumps = &bumps;
        blob.noise_origin = vec3_make((float)i * 1.37f, (float)i * 0.59f, 0);
        add_cube_sphere(builder, &blob);
    }
    noise_close(&bumps);
}
