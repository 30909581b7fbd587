/* Difficult rays: in the planes of triangles and within rounding of them, along needles, at corners
   and edges, along axes, ending on a surface, from up to a thousand diagonals away. And two
   references without a tree: triangle_intersect on every triangle, whose bits every traversal of
   every tree must return; and double arithmetic, which tells which triangles a ray certainly hits
   and how far a hit may be off (triangle.h derives the bounds). */
#ifndef KD_TESTS_NASTY_RAYS_H
#define KD_TESTS_NASTY_RAYS_H
#include "triangle_sets.h"

enum { NASTY_KINDS = 16 };

/* Needles of length 1, 2^-10 to 2^-40 wide, in a box of size 4; some along axes, some in one
   plane. */
static inline triangle_set triangle_set_needles(uint32_t count) {
    triangle_set set = triangle_set_make(CASE_SOUP, count);
    box3 box = box3_empty();
    for (uint32_t i = 0; i < count; ++i) {
        const rng_block r = rng_draw(rng_key_make(17, 1, i), 0, 0),
                        s = rng_draw(rng_key_make(17, 2, i), 0, 0);
        vec3 *corner = set.positions + 3 * (uint64_t)i;
        vec3 along = vec3_make(s.value[0] - 0.5f, s.value[1] - 0.5f, s.value[2] - 0.5f);
        if (i % 4 == 1) vec3_set_axis(&along, (int)(i / 4 % 3), 0);
        if (i % 4 == 2) along = vec3_make(i / 4 % 3 == 0, i / 4 % 3 == 1, i / 4 % 3 == 2);
        const float wide = ldexpf(1, -10 - (int)(31 * r.value[3]));
        corner[0] = vec3_make(4 * r.value[0], 4 * r.value[1], i % 8 ? 4 * r.value[2] : 1);
        corner[1] = vec3_add(corner[0], along);
        corner[2] = vec3_add(i % 3 ? corner[1] : corner[0],
                             vec3_scale(vec3_make(0.3f + s.value[3], 0.7f, -0.4f), wide));
        for (uint32_t k = 0; k < 3; ++k) box3_include(&box, corner[k]);
    }
    set.size = count ? vec3_largest(box3_size(box)) : 1;
    set.centre = box3_centre(box);
    return set;
}

/* The target of ray i: a triangle, a point of it, and a direction in its plane. */
typedef struct nasty_aim {
    vec3 corner[3], point, in_plane;
    float u[8]; /* random, in [0, 1) */
} nasty_aim;

static inline nasty_aim nasty_aim_at(const triangle_set *set, uint32_t i) {
    nasty_aim aim;
    const rng_block r = rng_draw(rng_key_make(31, 1, i), 0, 0),
                    s = rng_draw(rng_key_make(31, 2, i), 0, 0);
    memcpy(aim.u, r.value, sizeof r.value);
    memcpy(aim.u + 4, s.value, sizeof s.value);
    const uint32_t id = (uint32_t)((double)set->input.triangle_count * (double)aim.u[0]);
    for (uint32_t k = 0; k < 3; ++k)
        aim.corner[k] = set->positions[set->triangles[3 * (uint64_t)id + (k + i) % 3]];
    const float b = aim.u[1] < aim.u[2] ? aim.u[1] : aim.u[2], c = fabsf(aim.u[1] - aim.u[2]);
    aim.point = triangle_point(aim.corner[0], aim.corner[1], aim.corner[2], b, c);
    const vec3 ab = vec3_sub(aim.corner[1], aim.corner[0]),
               ac = vec3_sub(aim.corner[2], aim.corner[0]);
    aim.in_plane = vec3_normalize(vec3_along(vec3_scale(vec3_normalize(ab), aim.u[3] - 0.5f),
                                             aim.u[4] - 0.5f, vec3_normalize(ac)));
    return aim;
}

/* A ray through `point` along `direction`, starting `far` before it; not normalised, so the point
   is near t = 1. */
static inline ray nasty_through(vec3 point, vec3 direction, float far) {
    const vec3 origin = vec3_along(point, -far, direction);
    return ray_make(origin, vec3_sub(point, origin), 0, INFINITY);
}

static inline vec3 nasty_tilted(const nasty_aim *aim, float by) {
    return vec3_along(aim->in_plane, by,
                      vec3_make(aim->u[5] - 0.5f, aim->u[6] - 0.5f, aim->u[7] - 0.5f));
}

/* Returns ray i; `set` must not be empty. */
static inline ray nasty_ray(const triangle_set *set, uint32_t i) {
    const nasty_aim aim = nasty_aim_at(set, i);
    const float *u = aim.u, size = set->size, off = 1000 * size;
    const vec3 a = aim.corner[0], b = aim.corner[1],
               some = vec3_make(u[5] - 0.5f, u[6] - 0.5f, u[7] - 0.5f);
    const vec3 centre = vec3_along(set->centre, size, some);
    vec3 axis = vec3_all(0), nearly = vec3_scale(some, 1e-4f);
    vec3_set_axis(&axis, (int)(3 * u[3]), i & 16 ? 1 : -1);
    vec3_set_axis(&nearly, (int)(3 * u[3]), i & 16 ? 1 : -1);
    ray ray = ray_make(centre, vec3_sub(a, centre), 0, INFINITY);
    switch (i % NASTY_KINDS) {
    case 0: return nasty_through(a, axis, size * u[4]);
    case 1: break;
    case 2: ray.direction = vec3_sub(vec3_along(a, u[1], vec3_sub(b, a)), centre); break;
    case 3: return ray_make(vec3_along(a, -1.5f, vec3_sub(b, a)), vec3_sub(b, a), 0, INFINITY);
    case 4: return nasty_through(a, some, off);
    case 5: return ray_make(centre, nearly, 0, INFINITY);
    case 6: return ray_make(a, some, 0, INFINITY);
    case 7: return nasty_through(aim.point, aim.in_plane, size * u[5]);
    case 8: return nasty_through(aim.point, nasty_tilted(&aim, 1e-8f), size * u[6]);
    case 9: return nasty_through(aim.point, aim.in_plane, off);
    case 10: return nasty_through(aim.point, nasty_tilted(&aim, 1e-6f), off * u[5]);
    case 11: return nasty_through(b, vec3_normalize(vec3_sub(b, a)), off * u[5]);
    case 12: /* begins on the triangle, in its plane */
        return ray_make(aim.point, nasty_tilted(&aim, i & 16 ? 1e-8f : 0), 0, INFINITY);
    case 13: /* ends on the triangle */
        ray = nasty_through(aim.point, i & 16 ? aim.in_plane : some, size);
        ray.tmax = 1;
        return ray;
    case 14: /* tmin lies on the triangle, the origin far away */
        ray = nasty_through(aim.point, nasty_tilted(&aim, 1e-7f), off * u[7]);
        ray.tmin = i & 16 ? 1 : 1 - 0x1p-20f;
        return ray;
    default: return nasty_through(aim.point, some, i & 16 ? off : size);
    }
    return ray;
}

/* The nearest hit by triangle_intersect on every triangle. */
static inline ray_hit nasty_answer(const tritree_input *input, ray ray) {
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    const vec3 d = ray.direction;
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    if (vec3_is_zero(d) || !vec3_is_finite(d)) return best;
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        float t = 0, u = 0, v = 0;
        if (triangle_intersect(&precomputed, a, b, c, &t, &u, &v) && t > ray.tmin && t < best.t &&
            !triangle_is_degenerate(a, b, c)) {
            const ray_hit hit = {t, u, v, id};
            best = hit;
        }
    }
    return best;
}

/* A triangle in the ray's coordinate system, in double: the ray is the line x = y = 0, and z is its
   largest axis. */
typedef struct nasty_view {
    double x[3], y[3], z[3], along,
        reach; /* reach: largest distance along an axis from the origin to a corner */
} nasty_view;

static inline nasty_view nasty_view_of(const tritree_input *input, uint32_t id, const ray *ray) {
    nasty_view view;
    const precomputed_ray precomputed = precomputed_ray_make(*ray);
    const int axes[3] = {precomputed.kx, precomputed.ky, precomputed.kz};
    double to[3] = {0, 0, 0};
    view.along = (double)vec3_axis(ray->direction, precomputed.kz);
    view.reach = 0;
    for (int i = 0; i < 3; ++i) {
        const vec3 p = input->positions[input->triangles[3 * (uint64_t)id + (uint32_t)i]];
        for (int k = 0; k < 3; ++k) {
            to[k] = (double)vec3_axis(p, axes[k]) - (double)vec3_axis(ray->origin, axes[k]);
            view.reach = fmax(view.reach, fabs(to[k]));
        }
        view.z[i] = to[2];
        view.x[i] = to[0] - (double)vec3_axis(ray->direction, precomputed.kx) / view.along * to[2];
        view.y[i] = to[1] - (double)vec3_axis(ray->direction, precomputed.ky) / view.along * to[2];
    }
    return view;
}

/* Bounds of a hit's error beside the triangle and along the ray, in units of reach. */
#define NASTY_BESIDE 0x1p-21 /* 8 units of 2^-24 */
#define NASTY_ALONG 0x1p-17

/* Returns true if the ray passes inside the triangle, at more than `margin` from its edges. */
static inline bool nasty_surely_hit(const nasty_view *view, double margin) {
    double weight[3];
    for (int i = 0; i < 3; ++i) {
        const int p = (i + 1) % 3, q = (i + 2) % 3;
        weight[i] = view->x[q] * view->y[p] - view->y[q] * view->x[p];
    }
    const double sign = weight[0] + weight[1] + weight[2] < 0 ? -1 : 1;
    for (int i = 0; i < 3; ++i) {
        const int p = (i + 1) % 3, q = (i + 2) % 3;
        const double length = hypot(view->x[q] - view->x[p], view->y[q] - view->y[p]);
        if (!(weight[i] * sign > margin * length)) return false;
    }
    return true;
}

/* Returns true if a point of the triangle lies within `margin` of the ray, at a t between `from`
   and `to`. Clips the triangle to that interval; its distance from the line is then that of the
   corners and edges of a convex polygon, or 0. */
static inline bool nasty_is_near(const nasty_view *view, double margin, double from, double to) {
    double p[9][3], q[9][3];
    int count = 3;
    for (int i = 0; i < 3; ++i) p[i][0] = view->x[i], p[i][1] = view->y[i], p[i][2] = view->z[i];
    for (int side = 0; side < 2; ++side) {
        const double plane = (side ? to : from) * view->along;
        const double sign = (side ? -1 : 1) * (view->along < 0 ? -1 : 1);
        int kept = 0;
        if (isinf(plane)) continue;
        for (int i = 0; i < count; ++i) {
            const double *s = p[i], *e = p[(i + 1) % count];
            const double hs = (s[2] - plane) * sign, he = (e[2] - plane) * sign;
            if (hs >= 0) memcpy(q[kept++], s, sizeof q[0]);
            if ((hs < 0) != (he < 0))
                for (int k = 0; k < 3; ++k) q[kept][k] = s[k] + hs / (hs - he) * (e[k] - s[k]);
            kept += (hs < 0) != (he < 0);
        }
        count = kept;
        memcpy(p, q, sizeof p);
    }
    int left = 0, right = 0;
    for (int i = 0; i < count; ++i) {
        const double *s = p[i], *e = p[(i + 1) % count];
        const double dx = e[0] - s[0], dy = e[1] - s[1], length = dx * dx + dy * dy;
        double k = length > 0 ? -(s[0] * dx + s[1] * dy) / length : 0;
        k = k < 0 ? 0 : k > 1 ? 1 : k;
        if (hypot(s[0] + k * dx, s[1] + k * dy) <= margin) return true;
        *(s[0] * e[1] - s[1] * e[0] < 0 ? &left : &right) += 1;
    }
    return count > 0 && (left == 0 || right == 0);
}

/* Returns NULL, or what is wrong with a hit according to double arithmetic; *id: the triangle
   concerned. */
static inline const char *nasty_complaint(const tritree_input *input, const ray *ray, ray_hit hit,
                                          uint32_t *id) {
    const bool none = hit.triangle == KD_NONE;
    const double begin = (double)ray->tmin, end = (double)(none ? ray->tmax : hit.t);
    for (*id = 0; *id < input->triangle_count; ++*id) {
        const nasty_view view = nasty_view_of(input, *id, ray);
        const double margin = NASTY_BESIDE * view.reach;
        const double along = NASTY_ALONG * view.reach / fabs(view.along);
        if (*id == hit.triangle && !nasty_is_near(&view, margin, end - along, end + along))
            return "its triangle is not where the hit is";
        if (nasty_surely_hit(&view, margin) &&
            !nasty_is_near(&view, margin, -(double)INFINITY, begin + along) &&
            !nasty_is_near(&view, margin, end - along, (double)INFINITY))
            return none ? "this triangle is surely met" : "this triangle is surely nearer";
    }
    return NULL;
}

#endif
