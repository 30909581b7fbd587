/* Decides whether glass, mirrors and smooth metal cast enough light for vcm to be worthwhile.
   Materials are judged by their constants, as in omissions.c.
   Idea: where light through lenses falls on other surfaces, paths meet the lamps by chance only:
     the variance of what they find is the irradiance times the radiance of the lamp. Divided by the
     square of what all lamps give on average, this is
       sum over lamps of (fraction of the light that meets lenses) (share of the power)
                         (cross section of the scene / pi) radiance / power of all lamps,
     which needs no rays: the fraction is the form factor of the lenses, without occlusion. Polished
     surfaces, such as smooth plastic, count by what they reflect.
   Work: lens triangles times points on lamps, up to WORK_MAX and up to the limit. */
#include "core/status.h"
#include "render/api/omissions.h"
#include <math.h>

/* Metal of at most this roughness casts light that is noisy by path tracing. */
static const float lens_roughness = 0.4f;
/* The variance of one sample per pixel, relative to the picture, from which on vcm needs less time
   than path for the same error: measured between 0.3 and 0.5 (tools/bench/results/xeon-auto.txt).
 */
static const double noise_limit = 0.3;
/* Reflectance of polished surfaces. */
static const double polished_share = 0.05;

enum {
    LAMP_POINTS = 4,
    LAMPS_MAX = 16,
    POINTS_MAX = LAMP_POINTS * LAMPS_MAX,
    WORK_MAX = 1 << 21,
    WORK_MAX_POLISHED = 1 << 18
};

/* A point on a lamp. */
typedef struct lamp_point {
    vec3 place, normal;
    double weight;   /* weight of its form factors in the variance */
    double sides[2]; /* form factors of triangles that face it, and of others */
} lamp_point;

/* Returns true if the material is glass, a mirror, or metal that is smooth or nearly so. */
static bool material_is_lens(const material *made, const principled *layers) {
    const bool layered = made->kind == MATERIAL_PRINCIPLED;
    const bool metal = made->kind == MATERIAL_CONDUCTOR ||
                       ((layered || made->kind == MATERIAL_PLASTIC) && made->metallic > 0.5f);
    return made->kind == MATERIAL_MIRROR || made->kind == MATERIAL_GLASS ||
           (layered && layers->transmission > 0.5f) || (metal && made->roughness <= lens_roughness);
}

/* Returns 1 for a lens, the reflectance of a polished surface, and 0 for others. */
static double triangle_share(const scene_view *scene, uint32_t triangle) {
    const uint32_t *kinds = scene->mesh.triangle_materials;
    const uint32_t kind = kinds ? kinds[triangle] : 0;
    const material *made = scene->materials + kind;
    const principled *layers = scene->layers ? scene->layers + kind : NULL;
    if (material_is_lens(made, layers)) return 1;
    return made->opacity > 0 && material_is_smooth(made, layers) ? polished_share : 0;
}

bool scene_has_lenses(const scene_view *scene) {
    bool any = false;
    for (uint32_t i = 0; i < scene->material_count && !any; ++i)
        any = material_is_lens(scene->materials + i, scene->layers ? scene->layers + i : NULL);
    for (uint32_t i = 0; any && i < scene->mesh.stored_count; ++i)
        if (triangle_share(scene, i) == 1) return true;
    return false;
}

static void corners_of(const scene_view *scene, uint32_t triangle, vec3 p[3]) {
    for (int k = 0; k < 3; ++k)
        p[k] = scene->mesh.positions[scene->mesh.triangles[3 * (uint64_t)triangle + (uint64_t)k]];
}

/* Fills in the points of all lamps, for each its share of the power. Returns 0 if other lights
   shine, or too many. */
static int points_of(const scene_view *scene, lamp_point points[POINTS_MAX]) {
    const double radius = (double)scene->environment.scene_radius;
    double power = 0;
    int count = 0;
    if (scene->light_count > LAMPS_MAX) return 0;
    for (uint32_t i = 0; i < scene->light_count; ++i) power += (double)scene->lights[i].power;
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const light *lamp = scene->lights + i;
        vec3 p[3];
        if (lamp->kind != LIGHT_TRIANGLE || !(lamp->area > 0) || !(power > 0)) return 0;
        corners_of(scene, lamp->triangle, p);
        const vec3 centre = vec3_scale(vec3_add(p[0], vec3_add(p[1], p[2])), 1.0f / 3);
        const double share = (double)lamp->power / power;
        for (int k = 0; k < LAMP_POINTS; ++k) {
            lamp_point *point = &points[count++];
            point->place = k < 3 ? vec3_scale(vec3_add(p[k], centre), 0.5f) : centre;
            point->normal = lamp->direction;
            point->sides[0] = point->sides[1] = 0;
            point->weight =
                share * share * (double)KD_PI * radius * radius / (double)lamp->area / LAMP_POINTS;
        }
    }
    return count;
}

/* Returns the form factor of a triangle from a point of a lamp, one that emits to both sides if
   `both`: Lambert's formula if it is on one side of the lamp, else the larger solid angle. Sets
   *faces to whether the front of the triangle faces the point. */
static double form_factor(const lamp_point *from, const vec3 p[3], bool both, bool *faces) {
    vec3 to[3];
    float heights[3];
    double sum = 0, solid = 0;
    for (int k = 0; k < 3; ++k) {
        const vec3 way = vec3_sub(p[k], from->place);
        if (!(vec3_length(way) > 0)) return 1;
        to[k] = vec3_normalize(way);
        heights[k] = vec3_dot(to[k], from->normal);
    }
    const double volume = (double)vec3_dot(to[0], vec3_cross(to[1], to[2]));
    *faces = volume < 0;
    const bool before = heights[0] >= 0 && heights[1] >= 0 && heights[2] >= 0;
    const bool behind = heights[0] <= 0 && heights[1] <= 0 && heights[2] <= 0;
    if (behind && !both) return 0;
    if (before || behind) {
        for (int k = 0; k < 3; ++k) {
            const vec3 across = vec3_cross(to[k], to[(k + 1) % 3]);
            const double sine = (double)vec3_length(across);
            if (!(sine > 0)) continue;
            const double angle = atan2(sine, (double)vec3_dot(to[k], to[(k + 1) % 3]));
            sum += angle / sine * (double)vec3_dot(across, from->normal);
        }
        return fabs(sum) / (2 * (double)KD_PI) * (both ? 0.5 : 1);
    }
    solid = 1 + (double)vec3_dot(to[0], to[1]) + (double)vec3_dot(to[1], to[2]) +
            (double)vec3_dot(to[2], to[0]);
    return 2 * fabs(atan2(volume, solid)) / (double)KD_PI;
}

bool scene_lenses_matter(const scene_view *scene, bool lenses) {
    lamp_point points[POINTS_MAX];
    const int count = points_of(scene, points);
    double noise = 0;
    int64_t work = 0;
    if (count == 0) return lenses;
    /* triangles of instanced meshes have no position in the scene; they count as large */
    for (uint32_t i = scene->mesh.triangle_count; i < scene->mesh.stored_count; ++i)
        if (triangle_share(scene, i) == 1) return true;
    for (uint32_t i = 0; i < scene->mesh.triangle_count; ++i) {
        vec3 p[3];
        const double share = triangle_share(scene, i);
        if (!(share > 0)) continue;
        if ((work += count) > (lenses ? WORK_MAX : WORK_MAX_POLISHED)) return lenses;
        corners_of(scene, i, p);
        for (int k = 0; k < count; ++k) {
            lamp_point *point = &points[k];
            const bool both = scene->lights[k / LAMP_POINTS].two_sided != 0;
            bool faces = false;
            const double before = fmax(point->sides[0], point->sides[1]);
            const double factor = form_factor(point, p, both, &faces);
            point->sides[!faces] += share * factor;
            noise += point->weight * (fmax(point->sides[0], point->sides[1]) - before);
        }
        if (noise > noise_limit) return true;
    }
    log_message(LOG_DETAIL, "light through glass and from mirrors: variance %.2g of the picture",
                noise);
    return false;
}
