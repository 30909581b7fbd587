/* Triangles one by one: slivers, normals against the winding, textures without coordinates. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"

/* A triangle whose least height is below this share of its longest edge is a sliver. */
static const double sliver_share = 0.001;

typedef struct wide3 {
    double x, y, z;
} wide3;

static wide3 edge(vec3 a, vec3 b) {
    const wide3 e = {(double)b.x - (double)a.x, (double)b.y - (double)a.y,
                     (double)b.z - (double)a.z};
    return e;
}

static double dot(wide3 a, wide3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* Doubles hold the fourth power of every float's range: nothing overflows or vanishes. */
static wide3 cross_of(const examination *of, uint64_t triangle, double *longest2) {
    const vec3 a = check_point(of, triangle, 0), b = check_point(of, triangle, 1);
    const vec3 c = check_point(of, triangle, 2);
    const wide3 e = edge(a, b), f = edge(a, c), g = edge(b, c);
    const wide3 cross = {e.y * f.z - e.z * f.y, e.z * f.x - e.x * f.z, e.x * f.y - e.y * f.x};
    *longest2 = fmax(dot(e, e), fmax(dot(f, f), dot(g, g)));
    return cross;
}

static void shape_examine(examination *of, uint64_t triangle, wide3 cross, double longest2) {
    const double share = sqrt(dot(cross, cross)) / longest2;
    if (of->marks[triangle] & CHECK_FLAT || share >= sliver_share) return;
    check_triangle_note(of, triangle, "sliver", CHECK_NOTE,
                        "found a triangle %.1g times as high as long, expected %g at least", share,
                        sliver_share);
}

static void normals_examine(examination *of, uint64_t triangle, wide3 cross) {
    if (!of->body.normal_indices) return;
    wide3 sum = {0, 0, 0};
    for (uint64_t k = 0; k < 3; ++k) {
        const uint32_t index = of->body.normal_indices[3 * triangle + k];
        if (index == KD_NONE) return;
        const vec3 n = of->body.normals[index];
        sum.x += (double)n.x;
        sum.y += (double)n.y;
        sum.z += (double)n.z;
    }
    if (dot(sum, cross) < 0)
        check_triangle_note(of, triangle, "flipped-normal", CHECK_WARNING,
                            "found normals against the winding, expected both on one side");
}

static bool has_texture(const mesh_material *of) {
    mesh_material copy = *of;
    for (int map = 0; map < MESH_MAPS; ++map)
        if (*mesh_material_map(&copy, (mesh_map)map)) return true;
    return false;
}

static bool lacks_texcoord(const mesh *body, uint64_t triangle) {
    if (!has_texture(&body->materials[body->triangle_materials[triangle]])) return false;
    for (uint64_t k = 0; k < 3 && body->texcoord_indices; ++k)
        if (body->texcoord_indices[3 * triangle + k] == KD_NONE) return true;
    return !body->texcoord_indices;
}

/* Once a material, at its first triangle. */
static kd_status textures_examine(examination *of) {
    const mesh *body = &of->body;
    uint64_t *first = NULL, *count = NULL;
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(first, body->material_count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(count, body->material_count));
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        if (!lacks_texcoord(body, i)) continue;
        const uint32_t m = body->triangle_materials[i];
        if (count[m]++ == 0) first[m] = i;
    }
    for (uint32_t m = 0; m < body->material_count; ++m)
        if (count[m])
            check_triangle_note(of, first[m], "texture-without-uv", CHECK_WARNING,
                                "found %llu triangles without texture coordinates, expected some "
                                "for the textures of \"%.60s\"",
                                (unsigned long long)count[m], body->materials[m].name);
done:
    memory_free(first);
    memory_free(count);
    return status;
}

kd_status check_triangles(examination *of) {
    for (uint64_t i = 0; i < of->body.triangle_count; ++i) {
        double longest2;
        const wide3 cross = cross_of(of, i, &longest2);
        shape_examine(of, i, cross, longest2);
        normals_examine(of, i, cross);
    }
    KD_TRY(textures_examine(of));
    return KD_OK;
}
