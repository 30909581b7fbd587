/* Tiny scenes built in code, for tests of code that takes a scene_view. */
#ifndef KD_TESTS_SCENE_FIXTURE_H
#define KD_TESTS_SCENE_FIXTURE_H
#include "scenes/assembly/scene_light_tree.h"
#include "shaders/surface.h"
#include <stdlib.h>

enum {
    FIXTURE_TRIANGLES = 8192,
    FIXTURE_VERTICES = 3 * FIXTURE_TRIANGLES,
    FIXTURE_MATERIALS = 16,
    FIXTURE_MEDIA = 4
};

/* The arrays of one scene; the scene_view that fixture_view returns points to them. */
typedef struct scene_fixture {
    vec3 positions[FIXTURE_VERTICES], normals[FIXTURE_VERTICES];
    uint32_t triangles[3 * FIXTURE_TRIANGLES], normal_indices[3 * FIXTURE_TRIANGLES];
    uint32_t triangle_materials[FIXTURE_TRIANGLES], triangle_lights[FIXTURE_TRIANGLES];
    material materials[FIXTURE_MATERIALS];
    light lights[FIXTURE_TRIANGLES];
    float light_cdf[FIXTURE_TRIANGLES + 1];
    light_node light_nodes[FIXTURE_TRIANGLES];
    uint32_t light_trails[FIXTURE_TRIANGLES];
    light_tree_view light_tree;
    uint32_t vertex_count, triangle_count, material_count, light_count;
    uint32_t sky; /* index of the environment light, or KD_NONE */
    medium media[FIXTURE_MEDIA];
    uint32_t medium_count, fog; /* fog: index of the fog, or KD_NONE */
} scene_fixture;

static inline void fixture_clear(scene_fixture *made) {
    made->vertex_count = made->triangle_count = made->material_count = made->light_count = 0;
    made->sky = made->fog = KD_NONE;
    made->medium_count = 0;
}

static inline uint32_t fixture_material(scene_fixture *fixture, material record) {
    fixture->materials[fixture->material_count] = record;
    return fixture->material_count++;
}

/* Adds a triangle. If all normals are zero, it has no shading normals. */
static inline void fixture_triangle(scene_fixture *fixture, uint32_t made_of, const vec3 corner[3],
                                    const vec3 normal[3]) {
    const uint32_t first = fixture->vertex_count, triangle = fixture->triangle_count++;
    for (uint32_t i = 0; i < 3; ++i) {
        fixture->positions[first + i] = corner[i];
        fixture->normals[first + i] = normal ? normal[i] : vec3_all(0);
        fixture->triangles[3 * triangle + i] = first + i;
        fixture->normal_indices[3 * triangle + i] = normal ? first + i : KD_NONE;
    }
    fixture->vertex_count += 3;
    fixture->triangle_materials[triangle] = made_of;
}

/* Adds a quad. Its corners are counter-clockwise as seen from the side that its normal points
   to. */
static inline void fixture_quad(scene_fixture *fixture, uint32_t made_of, vec3 a, vec3 b, vec3 c,
                                vec3 d) {
    const vec3 first[3] = {a, b, c}, second[3] = {a, c, d};
    fixture_triangle(fixture, made_of, first, NULL);
    fixture_triangle(fixture, made_of, second, NULL);
}

/* Adds a closed box; with `inward`, its normals point inside. Its six faces have materials in the
   order -x +x -y +y -z +z. */
static inline void fixture_box(scene_fixture *fixture, const uint32_t made_of[6], vec3 lo, vec3 hi,
                               bool inward) {
    vec3 p[8];
    for (int i = 0; i < 8; ++i)
        p[i] = vec3_make(i & 1 ? hi.x : lo.x, i & 2 ? hi.y : lo.y, i & 4 ? hi.z : lo.z);
    static const int face[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                   {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}}; /* normals outward */
    for (int f = 0; f < 6; ++f) {
        const int *k = face[f];
        if (inward)
            fixture_quad(fixture, made_of[f], p[k[3]], p[k[2]], p[k[1]], p[k[0]]);
        else
            fixture_quad(fixture, made_of[f], p[k[0]], p[k[1]], p[k[2]], p[k[3]]);
    }
}

static inline vec3 fixture_on_sphere(int i, int j, int rings) {
    const float theta = KD_PI * (float)i / (float)rings;
    const float phi = KD_PI * (float)(j % (2 * rings)) / (float)rings;
    const float s = i == 0 || i == rings ? 0 : sinf(theta);
    return vec3_make(s * cosf(phi), i == 0 ? 1 : i == rings ? -1 : cosf(theta), -s * sinf(phi));
}

/* Adds a sphere of `rings` x 2 `rings` patches with smooth normals. */
static inline void fixture_ball(scene_fixture *fixture, uint32_t made_of, vec3 centre, float radius,
                                int rings) {
    for (int i = 0; i < rings; ++i)
        for (int j = 0; j < 2 * rings; ++j) {
            const vec3 n[4] = {fixture_on_sphere(i, j, rings), fixture_on_sphere(i + 1, j, rings),
                               fixture_on_sphere(i + 1, j + 1, rings),
                               fixture_on_sphere(i, j + 1, rings)};
            static const int half[2][3] = {{0, 1, 2}, {0, 2, 3}};
            for (int h = 0; h < 2; ++h) {
                /* no second triangle at the poles */
                if ((h == 0 && i == rings - 1) || (h == 1 && i == 0)) continue;
                vec3 corner[3], normal[3];
                for (int k = 0; k < 3; ++k) {
                    normal[k] = n[half[h][k]];
                    corner[k] = vec3_along(centre, radius, normal[k]);
                }
                fixture_triangle(fixture, made_of, corner, normal);
            }
        }
}

static inline uint32_t fixture_medium(scene_fixture *fixture, vec3 absorption, vec3 scattering,
                                      float g) {
    medium *made = fixture->media + fixture->medium_count;
    made->absorption = absorption;
    made->scattering = scattering;
    made->g = g;
    return fixture->medium_count++;
}

static inline void fixture_light(scene_fixture *fixture, light record) {
    fixture->lights[fixture->light_count++] = record;
}

/* Returns the bounding box of all vertices. */
static inline box3 fixture_bounds(const scene_fixture *fixture) {
    box3 bounds = box3_empty();
    for (uint32_t i = 0; i < fixture->vertex_count; ++i)
        box3_include(&bounds, fixture->positions[i]);
    return bounds;
}

/* Makes every triangle of an emitting material a light. */
static inline void fixture_emit(scene_fixture *fixture) {
    for (uint32_t t = 0; t < fixture->triangle_count; ++t) {
        const material *made = fixture->materials + fixture->triangle_materials[t];
        fixture->triangle_lights[t] = KD_NONE;
        if (vec3_is_zero(made->emission)) continue;
        const vec3 a = fixture->positions[3 * t];
        light lamp;
        memset(&lamp, 0, sizeof lamp);
        lamp.kind = LIGHT_TRIANGLE;
        lamp.triangle = t;
        lamp.emitted = made->emission;
        lamp.two_sided = made->two_sided;
        lamp.area = 0.5f * vec3_length(vec3_cross(vec3_sub(fixture->positions[3 * t + 1], a),
                                                  vec3_sub(fixture->positions[3 * t + 2], a)));
        light_on_triangle(&lamp, a, fixture->positions[3 * t + 1], fixture->positions[3 * t + 2]);
        lamp.power = KD_PI * lamp.area * (made->two_sided ? 2 : 1) *
                     (lamp.emitted.x + lamp.emitted.y + lamp.emitted.z) / 3;
        fixture_light(fixture, lamp);
    }
}

/* Moves lights at infinity behind the others, and returns the number of the others. */
static inline uint32_t fixture_order_lights(scene_fixture *fixture) {
    static light distant[FIXTURE_TRIANGLES];
    uint32_t near_count = 0, distant_count = 0;
    for (uint32_t i = 0; i < fixture->light_count; ++i) {
        if (light_is_far(fixture->lights + i))
            distant[distant_count++] = fixture->lights[i];
        else
            fixture->lights[near_count++] = fixture->lights[i];
    }
    memcpy(fixture->lights + near_count, distant, distant_count * sizeof *distant);
    for (uint32_t i = 0; i < fixture->light_count; ++i) {
        const light *one = fixture->lights + i;
        if (one->kind == LIGHT_TRIANGLE) fixture->triangle_lights[one->triangle] = i;
        if (one->kind == LIGHT_ENVIRONMENT) fixture->sky = i;
    }
    return near_count;
}

/* Makes the lights of emitting triangles, then builds the table of powers and the tree. */
static inline void fixture_finish(scene_fixture *fixture) {
    fixture_emit(fixture);
    box3 bounds = fixture_bounds(fixture);
    if (fixture->vertex_count == 0) box3_include(&bounds, vec3_all(0));
    const light_tree_input input = {fixture->lights,     fixture_order_lights(fixture),
                                    fixture->triangles,  fixture->positions,
                                    box3_centre(bounds), 0.5f * vec3_length(box3_size(bounds))};
    memset(&fixture->light_tree, 0, sizeof fixture->light_tree);
    if (input.count > 1 && light_tree_build(&fixture->light_tree, fixture->light_nodes,
                                            fixture->light_trails, &input) != KD_OK)
        abort();
    double sum = 0, running = 0;
    for (uint32_t i = 0; i < fixture->light_count; ++i) sum += (double)fixture->lights[i].power;
    fixture->light_cdf[0] = 0;
    for (uint32_t i = 0; i < fixture->light_count; ++i) {
        running += (double)fixture->lights[i].power;
        fixture->light_cdf[i + 1] = i + 1 == fixture->light_count ? 1 : (float)(running / sum);
    }
}

/* Returns a view of everything except the tree. */
static inline scene_view fixture_view(const scene_fixture *fixture) {
    scene_view view;
    memset(&view, 0, sizeof view);
    view.mesh.positions = fixture->positions;
    view.mesh.normals = fixture->normals;
    view.mesh.triangles = fixture->triangles;
    view.mesh.normal_indices = fixture->normal_indices;
    view.mesh.triangle_materials = fixture->triangle_materials;
    view.mesh.position_count = view.mesh.normal_count = fixture->vertex_count;
    view.mesh.triangle_count = view.mesh.stored_count = fixture->triangle_count;
    view.materials = fixture->materials;
    view.material_count = fixture->material_count;
    view.lights = fixture->lights;
    view.light_cdf = fixture->light_cdf;
    view.light_tree = fixture->light_tree;
    view.light_count = fixture->light_count;
    view.triangle_lights = fixture->triangle_lights;
    view.media = fixture->media;
    view.medium_count = fixture->medium_count;
    view.fog = fixture->fog;
    view.box = fixture_bounds(fixture);
    view.environment.light = fixture->sky;
    view.environment.texture = KD_NONE;
    view.environment.scene_centre = box3_centre(view.box);
    view.environment.scene_radius = 0.5f * vec3_length(box3_size(view.box));
    for (uint32_t i = 0; i < fixture->light_count; ++i) {
        view.total_power += fixture->lights[i].power;
        if (fixture->lights[i].kind != LIGHT_DIRECTIONAL || !(fixture->lights[i].area > 0))
            continue;
        if (view.environment.sun_count == 0) view.environment.sun_first = i;
        view.environment.sun_count = i + 1 - view.environment.sun_first;
    }
    return view;
}

#endif
