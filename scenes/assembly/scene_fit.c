/* Cameras fitted to what a scene shows. */
#include "scenes/assembly/scene_camera.h"
#include "scenes/assembly/scene_parts.h"
#include <stdlib.h>

#define FIT_SHARE 0.8f       /* share of the picture's width or height */
#define FIT_RAISED 0.04f     /* share of half the height of the picture */
#define TERRAIN_FLAT 0.35f   /* height relative to the smaller width */
#define TERRAIN_STEEP 1.5f   /* the same, of a mesh that fills its rectangle */
#define TERRAIN_FULL 0.98    /* share of the rectangle */
#define OUTLIER_SHARE 0.2f   /* of the scene's diagonal: what the subject is smaller than */
#define FEET_HEIGHT 0.01f    /* relative to the height */
#define FIT_AZIMUTH (-30.0f) /* degrees, positive to the right of the front */
#define FIT_ELEVATION 16.0f
#define FIT_ELEVATION_FLAT 40.0f
#define FIT_FLAT 0.25f          /* height relative to width below which the elevation rises */
#define FLOOR_LENGTH (1.0f / 3) /* of its triangles, relative to the scene's diagonal */
#define FLOOR_FLAT 0.02f        /* its height, and above what stands on it; the same unit */

/* The four planes through the eye that limit the picture, as functions of a vertex whose maxima
   decide where the eye must be. */
typedef struct fit {
    vec3 centre, plane[4]; /* right, left, upper, lower */
    float largest[4];
} fit;

static void fit_point(fit *to, vec3 point) {
    const vec3 at = vec3_sub(point, to->centre);
    for (int i = 0; i < 4; ++i)
        to->largest[i] = float_max(to->largest[i], vec3_dot(at, to->plane[i]));
}

static void fit_box(fit *to, box3 box) {
    for (int c = 0; c < 8; ++c)
        fit_point(to, vec3_make(c & 1 ? box.hi.x : box.lo.x, c & 2 ? box.hi.y : box.lo.y,
                                c & 4 ? box.hi.z : box.lo.z));
}

/* The vertices of instances are those of their copies, so that both have the same camera; of very
   many triangles only the boxes count. */
static void fit_instances(fit *to, const scene_view *view) {
    enum { MANY = 1 << 25 };
    uint64_t triangles = 0;
    for (uint32_t i = 0; i < view->instances.count; ++i)
        triangles += view->instances.shapes[view->instances.list[i].shape].count;
    for (uint32_t i = 0; i < view->instances.count; ++i) {
        const instance *put = view->instances.list + i;
        const instanced_shape *shape = view->instances.shapes + put->shape;
        const uint32_t *corners = view->mesh.triangles + 3 * (uint64_t)shape->first;
        if (triangles > MANY) fit_box(to, instance_box(put, shape->box));
        for (uint64_t k = 0; triangles <= MANY && k < 3 * (uint64_t)shape->count; ++k)
            fit_point(to, instance_corner(put, view->mesh.positions[corners[k]]));
    }
}

static bool is_within(box3 box, vec3 at) {
    return at.x >= box.lo.x && at.x <= box.hi.x && at.y >= box.lo.y && at.y <= box.hi.y &&
           at.z >= box.lo.z && at.z <= box.hi.z;
}

/* Returns the box of all corners within `limits`. */
static box3 box_within(const mesh_view *mesh, box3 limits) {
    box3 box = box3_empty();
    for (uint64_t i = 0; i < 3 * (uint64_t)mesh->triangle_count; ++i) {
        const vec3 at = mesh->positions[mesh->triangles[i]];
        if (is_within(limits, at)) box3_include(&box, at);
    }
    return box;
}

/* The corners and triangles of a mesh along an axis of a box. */
enum { BINS = 1024 };
typedef struct profile {
    uint64_t corners[BINS], total;
    bool filled[BINS]; /* by triangles */
} profile;

static void profile_take(profile *out, const mesh_view *mesh, box3 box, int axis) {
    const float low = vec3_axis(box.lo, axis), size = vec3_axis(box.hi, axis) - low;
    memset(out, 0, sizeof *out);
    for (uint64_t i = 0; i < mesh->triangle_count; ++i) {
        int bins[3];
        for (int c = 0; c < 3; ++c) {
            const vec3 at = mesh->positions[mesh->triangles[3 * i + (uint64_t)c]];
            bins[c] =
                (int)float_clamp((vec3_axis(at, axis) - low) / size * BINS, 0, (float)BINS - 1);
            if (is_within(box, at)) ++out->corners[bins[c]], ++out->total;
        }
        const int first = bins[0] < bins[1] ? bins[0] : bins[1];
        const int last = bins[0] > bins[1] ? bins[0] : bins[1];
        for (int k = first < bins[2] ? first : bins[2]; k <= (last > bins[2] ? last : bins[2]); ++k)
            out->filled[k] = true;
    }
}

/* Leaves out at most one corner in OUTLIERS at each end. */
static void drop_few(const profile *along, int ends[2]) {
    enum { OUTLIERS = 1000 };
    uint64_t sum = along->corners[ends[0]];
    for (; sum <= along->total / OUTLIERS; sum += along->corners[++ends[0]]) continue;
    sum = along->corners[ends[1]];
    for (; sum <= along->total / OUTLIERS; sum += along->corners[--ends[1]]) continue;
}

/* Leaves out specks beyond an empty gap that is as wide as what remains: together at most one
   corner in OUTLIERS at each end, and much smaller than what remains. */
static void drop_specks(const profile *along, int ends[2]) {
    enum { OUTLIERS = 50, SMALLER = 8, FEW = 3 };
    for (int side = 0; side < 2; ++side) {
        const int step = side ? -1 : 1, other = ends[1 - side];
        uint64_t sum = 0;
        int filled = 0, gap = 0;
        for (int k = ends[side]; k != other && sum <= along->total / OUTLIERS; k += step) {
            const int rest = abs(other - k) + 1;
            if (along->filled[k] && gap >= rest &&
                filled <= (rest > FEW * SMALLER ? rest / SMALLER : FEW))
                ends[side] = k;
            gap = along->filled[k] ? 0 : gap + 1;
            filled += along->filled[k];
            sum += along->corners[k];
        }
    }
}

/* Returns the scene's box without a few triangles far from all others, such as errors of scans. */
static box3 box_without_outliers(const mesh_view *mesh, box3 box) {
    box3 few = box, specks = box;
    if (!mesh->triangle_count) return box;
    for (int axis = 0; axis < 3; ++axis) {
        const float low = vec3_axis(box.lo, axis), size = vec3_axis(box.hi, axis) - low;
        profile along;
        if (!(size > 0)) continue;
        profile_take(&along, mesh, box, axis);
        for (int rule = 0; rule < 2; ++rule) {
            box3 *range = rule ? &specks : &few;
            int ends[2] = {0, BINS - 1};
            (rule ? drop_specks : drop_few)(&along, ends);
            if (ends[0] > 0) vec3_set_axis(&range->lo, axis, low + size * (float)ends[0] / BINS);
            if (ends[1] < BINS - 1)
                vec3_set_axis(&range->hi, axis, low + size * (float)(ends[1] + 1) / BINS);
        }
    }
    const float size = vec3_length(box3_size(few));
    if (size > OUTLIER_SHARE * vec3_length(box3_size(box)))
        return memcmp(&specks, &box, sizeof box) == 0 ? box : box_within(mesh, specks);
    few.lo = vec3_sub(few.lo, vec3_all(0.5f * size));
    few.hi = vec3_add(few.hi, vec3_all(0.5f * size));
    return box_within(mesh, few);
}

/* Returns the box of what stands on a floor that is part of the mesh, if it is much smaller than
   the floor: it would hardly be seen in a view of all. Otherwise that of the scene. */
static box3 subject_box(const scene *scene, vec3 up) {
    const scene_view view = scene_get_view(scene);
    const float diagonal = vec3_length(box3_size(scene->box));
    const int axis = up.z != 0 ? 2 : 1;
    box3 floor = box3_empty(), rest = box3_empty();
    if (view.instances.count) return scene->box;
    for (uint64_t i = 0; i < view.mesh.triangle_count; ++i) {
        box3 triangle = box3_empty();
        for (int c = 0; c < 3; ++c)
            box3_include(&triangle, view.mesh.positions[view.mesh.triangles[3 * i + (uint64_t)c]]);
        const bool large = vec3_length(box3_size(triangle)) > FLOOR_LENGTH * diagonal;
        box3_join(large ? &floor : &rest, triangle);
    }
    if (box3_is_empty(floor) || box3_is_empty(rest))
        return box_without_outliers(&view.mesh, scene->box);
    const float above = vec3_axis(up, axis) > 0
                            ? vec3_axis(floor.hi, axis) - vec3_axis(rest.lo, axis)
                            : vec3_axis(rest.hi, axis) - vec3_axis(floor.lo, axis);
    const bool stands = vec3_axis(box3_size(floor), axis) <= FLOOR_FLAT * diagonal &&
                        above <= FLOOR_FLAT * diagonal &&
                        vec3_length(box3_size(rest)) < FLOOR_LENGTH * diagonal;
    return stands ? rest : box_without_outliers(&view.mesh, scene->box);
}

static void fit_scene(fit *to, const scene *scene, box3 subject) {
    const scene_view view = scene_get_view(scene);
    for (uint64_t i = 0; i < 3 * (uint64_t)view.mesh.triangle_count; ++i) {
        const vec3 at = view.mesh.positions[view.mesh.triangles[i]];
        if (is_within(subject, at)) fit_point(to, at);
    }
    fit_instances(to, &view);
    if (view.mesh.stored_count == 0) fit_point(to, to->centre);
}

/* A vertex p is inside the right edge if p.right / tan + p.back <= d + c.right / tan for the eye c
   + d back. The maxima over all vertices give the least d, and the c where both edges are touched.
 */
static void fit_camera(const scene *scene, box3 subject, vec3 back, float aspect, camera *view) {
    const float tan_y = tanf(view->fov_degrees * (KD_PI / 360)), tan_x = tan_y * aspect;
    const vec3 right = vec3_normalize(vec3_cross(view->up, back)), above = vec3_cross(back, right);
    const float x = FIT_SHARE * tan_x, y = FIT_SHARE * tan_y;
    fit to = {.centre = box3_centre(subject)};
    to.plane[0] = vec3_along(back, 1 / x, right);
    to.plane[1] = vec3_along(back, -1 / x, right);
    to.plane[2] = vec3_along(back, 1 / y, above);
    to.plane[3] = vec3_along(back, -1 / y, above);
    for (int i = 0; i < 4; ++i) to.largest[i] = -INFINITY;
    fit_scene(&to, scene, subject);
    float distance = 0.5f * float_max(to.largest[0] + to.largest[1], to.largest[2] + to.largest[3]);
    if (!(distance > 0)) distance = 1; /* a single point */
    vec3 aim = vec3_along(to.centre, 0.5f * x * (to.largest[0] - to.largest[1]), right);
    aim = vec3_along(
        aim, 0.5f * y * (to.largest[2] - to.largest[3]) - FIT_RAISED * tan_y * distance, above);
    view->look_at = aim;
    view->eye = vec3_along(aim, distance, back);
}

void scene_fit_camera(const scene *scene, vec3 back, float aspect, camera *view) {
    fit_camera(scene, scene->box, back, aspect, view);
}

void scene_upright(vec3 axes[3], vec3 up) {
    const bool z_up = fabsf(up.z) > fabsf(up.x) && fabsf(up.z) > fabsf(up.y);
    axes[1] = z_up ? vec3_make(0, 0, up.z < 0 ? -1 : 1) : vec3_make(0, up.y < 0 ? -1 : 1, 0);
    axes[2] = z_up ? vec3_make(0, -1, 0) : vec3_make(0, 0, 1);
    axes[0] = vec3_cross(axes[1], axes[2]);
}

static float box_extent(box3 box, vec3 axis) {
    const vec3 size = box3_size(box);
    return fabsf(size.x * axis.x) + fabsf(size.y * axis.y) + fabsf(size.z * axis.z);
}

float scene_extent(const scene *scene, vec3 axis) {
    return box_extent(scene->box, axis);
}

/* From the left of the front. What is flat is seen from higher up. */
void scene_three_quarters(const scene *scene, float aspect, camera *view) {
    vec3 axes[3];
    scene_upright(axes, view->up);
    const box3 subject = subject_box(scene, axes[1]);
    const float wide = float_max(box_extent(subject, axes[0]), box_extent(subject, axes[2]));
    const float tall = box_extent(subject, axes[1]);
    const float flat = wide > 0 ? float_clamp(1 - tall / (FIT_FLAT * wide), 0, 1) : 0;
    const float elevation =
        (FIT_ELEVATION + flat * (FIT_ELEVATION_FLAT - FIT_ELEVATION)) * (KD_PI / 180);
    const float azimuth = FIT_AZIMUTH * (KD_PI / 180);
    vec3 back = vec3_scale(axes[0], sinf(azimuth) * cosf(elevation));
    back = vec3_along(back, cosf(azimuth) * cosf(elevation), axes[2]);
    fit_camera(scene, subject, vec3_normalize(vec3_along(back, sinf(elevation), axes[1])), aspect,
               view);
}

/* A height field seen along `axis`: all triangles face the same side, and it is flat, or fills its
   rectangle. Meshes of a few triangles are signs and pictures instead. */
static bool is_terrain(const scene *scene, int axis) {
    enum { FEW = 64 };
    const mesh *geometry = &scene->geometry;
    const vec3 size = box3_size(scene->box);
    const float width = vec3_axis(size, (axis + 1) % 3), depth = vec3_axis(size, (axis + 2) % 3);
    const float height = vec3_axis(size, axis), narrow = float_min(width, depth);
    double sides[2] = {0, 0}; /* areas seen along the axis */
    if (height >= TERRAIN_STEEP * narrow || scene->plain_count < FEW) return false;
    for (uint64_t i = 0; i < scene->plain_count; ++i) {
        const uint32_t *corner = geometry->triangles + 3 * i;
        const vec3 a = geometry->positions[corner[0]];
        const vec3 b = vec3_sub(geometry->positions[corner[1]], a);
        const vec3 c = vec3_sub(geometry->positions[corner[2]], a);
        const double area = 0.5 * (double)vec3_axis(vec3_cross(b, c), axis);
        sides[area < 0] += fabs(area);
    }
    if (sides[0] > 0 && sides[1] > 0) return false;
    return height < TERRAIN_FLAT * narrow ||
           sides[0] + sides[1] > TERRAIN_FULL * (double)width * (double)depth;
}

/* How a mesh would stand, in coordinates in which its box is a unit cube. */
typedef struct stance {
    double centre[3]; /* of its surface */
    box3 feet[3];     /* the vertices within FEET_HEIGHT of the lower side of each axis */
} stance;

static stance find_stance(const scene *scene) {
    const mesh *geometry = &scene->geometry;
    const vec3 size = box3_size(scene->box);
    double total = 0;
    stance out = {.feet = {box3_empty(), box3_empty(), box3_empty()}};
    for (uint64_t i = 0; i < scene->plain_count; ++i) {
        vec3 corner[3];
        for (int k = 0; k < 3; ++k) {
            const vec3 at = vec3_sub(geometry->positions[geometry->triangles[3 * i + (uint64_t)k]],
                                     scene->box.lo);
            for (int a = 0; a < 3; ++a)
                vec3_set_axis(corner + k, a,
                              vec3_axis(size, a) > 0 ? vec3_axis(at, a) / vec3_axis(size, a) : 0);
            for (int a = 0; a < 3; ++a)
                if (vec3_axis(corner[k], a) <= FEET_HEIGHT) box3_include(out.feet + a, corner[k]);
        }
        const vec3 edges[2] = {vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0])};
        const double area = (double)vec3_length(vec3_cross(edges[0], edges[1]));
        total += area;
        for (int k = 0; k < 9; ++k)
            out.centre[k % 3] += area / 3 * (double)vec3_axis(corner[k / 3], k % 3);
    }
    for (int a = 0; a < 3; ++a) out.centre[a] = total > 0 ? out.centre[a] / total : 0.5;
    return out;
}

/* Returns true if the centre is well above the feet and these are not much narrower than the mesh.
 */
static bool stands(const stance *stance, const scene *scene, int upward, float narrowest) {
    const float margin = 0.05f;
    const box3 feet = stance->feet[upward];
    if (box3_is_empty(feet)) return false;
    for (int a = 0; a < 3; ++a) {
        const float lo = vec3_axis(feet.lo, a), hi = vec3_axis(feet.hi, a);
        const float centre = (float)stance->centre[a];
        if (a == upward || !(vec3_axis(box3_size(scene->box), a) > 0)) continue;
        if (hi - lo < narrowest || centre < lo + margin || centre > hi - margin) return false;
    }
    return true;
}

/* A table on its side, for example: it could stand on either of two sides, but what is as heavy at
   its left as at its right is seldom as heavy at its top as at its bottom. */
static bool lies_on_side(const stance *stance, int usual, int other) {
    const double even = 0.01, uneven = 0.2;
    return fabs(stance->centre[0] - 0.5) < even && fabs(stance->centre[usual] - 0.5) < even &&
           fabs(stance->centre[other] - 0.5) > uneven;
}

/* Returns true if the scene stands on its lower side along `other`, and would fall over on the
   usual one. Walls, plates and signs can stand on an edge. */
static bool stands_on(const scene *scene, int usual, int other) {
    const vec3 size = box3_size(scene->box);
    const float width = float_min(size.x, vec3_axis(size, usual));
    if (vec3_axis(size, other) < TERRAIN_FLAT * width) return false;
    const stance stance = find_stance(scene);
    if (!stands(&stance, scene, other, 0.2f)) return false;
    return !stands(&stance, scene, usual, 0.1f) || lies_on_side(&stance, usual, other);
}

void scene_log_up(vec3 up) {
    log_message(LOG_INFO,
                "%c is taken for up, because the scene lies or stands on that side "
                "(--up %s otherwise)",
                up.z != 0 ? 'z' : 'y', up.z != 0 ? "0,1,0" : "0,0,1");
}

vec3 scene_guess_up(const scene *scene, vec3 usual) {
    const int from = usual.z != 0 ? 2 : 1, to = 3 - from;
    vec3 other = {0, 0, 0};
    vec3_set_axis(&other, to, 1);
    if (scene->plain_count == 0 || scene->shape_count || is_terrain(scene, from)) return usual;
    if (!is_terrain(scene, to) && !stands_on(scene, from, to)) return usual;
    scene_log_up(other);
    return other;
}
