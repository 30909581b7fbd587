#include "core/math/rng.h"
#include "core/parallel/parallel.h"
#include "scenes/describe/readers.h"
#include "tools/lab/bench/inputs.h"
#include <string.h>

const char *const bench_sets[] = {"uniform", "photon", "clustered", "stretched",
                                  "sorted",  "ties",   "equal",     NULL};

static vec3 on_sphere(vec3 centre, float radius, float u, float v) {
    const float z = 2 * u - 1, ring = sqrtf(float_max(0, 1 - z * z)), angle = 2 * KD_PI * v;
    return vec3_add(
        centre, vec3_make(radius * ring * cosf(angle), radius * z, radius * ring * sinf(angle)));
}

/* The spheres of "photon". */
static vec3 sphere_centre(int which) {
    const float at = 0.25f + 0.25f * (float)which;
    return vec3_make(at, 0.2f, 1 - at);
}

static float sphere_radius(int which) {
    return 0.15f + 0.02f * (float)which;
}

static vec3 photon_point(const rng_block *r, const rng_block *more) {
    const float kind = more->value[0], x = r->value[0], y = r->value[1], z = r->value[2];
    if (kind < 0.6f) { /* a wall: one coordinate is exactly 0 or 1 */
        const int wall = (int)(kind * 10) % 6;
        vec3 point = vec3_make(x, y, z);
        vec3_set_axis(&point, wall / 2, (float)(wall % 2));
        return point;
    }
    if (kind < 0.85f) {
        const int which = (int)(more->value[1] * 3);
        return on_sphere(sphere_centre(which), sphere_radius(which), x, y);
    }
    return vec3_make(0.5f + 0.01f * (x + r->value[3] - 1), 0.01f * y * y,
                     0.5f + 0.01f * (z + more->value[2] - 1));
}

typedef struct fill {
    char *to;
    point_array points;
    int set;
} fill;

/* Each group of three axes is an independent point of the set. */
static vec3 set_point(int set, uint64_t i, uint32_t group, uint64_t count) {
    const rng_key key = rng_key_make(1, (uint32_t)set, i | (uint64_t)group << 40);
    const rng_block r = rng_draw(key, 0, 0);
    const vec3 u = vec3_make(r.value[0], r.value[1], r.value[2]);
    switch (set) {
    case 1: {
        const rng_block more = rng_draw(key, 0, 1);
        return photon_point(&r, &more);
    }
    case 2: return i % 10 ? vec3_along(vec3_all(0.3f), 1e-4f, u) : u;
    case 3: return vec3_make(100 * u.x, u.y, u.z);
    case 4: return vec3_all((float)((double)i / (double)count));
    case 5: return vec3_make(floorf(8 * u.x), floorf(3 * u.y), floorf(100 * u.z));
    case 6: return vec3_all(0.25f);
    default: return u;
    }
}

static void fill_range(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const fill *work = (const fill *)context;
    const point_array *points = &work->points;
    for (int64_t i = begin; i < end; ++i) {
        void *to = work->to + (uint64_t)i * points->stride_bytes;
        vec3 three = vec3_all(0);
        memset(to, 0, points->stride_bytes);
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            if (axis % 3 == 0) three = set_point(work->set, (uint64_t)i, axis / 3, points->count);
            const float x = vec3_axis(three, (int)axis % 3);
            if (points->scalar == POINT_DOUBLE)
                ((double *)to)[axis] = (double)x;
            else
                ((float *)to)[axis] = x;
        }
    }
}

kd_status bench_set_fill_nd(void *to, const point_array *points, const char *set) {
    fill work = {(char *)to, *points, 0};
    while (bench_sets[work.set] && strcmp(bench_sets[work.set], set) != 0) ++work.set;
    KD_REQUIRE(bench_sets[work.set], KD_ERROR_USAGE,
               "unknown point set \"%s\"; expected uniform, photon, clustered, stretched, sorted, "
               "ties or equal",
               set);
    parallel_for((int64_t)points->count, 65536, fill_range, &work);
    return KD_OK;
}

kd_status bench_set_fill(vec3 *points, uint64_t count, const char *set) {
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    return bench_set_fill_nd(points, &array, set);
}

enum { IMAGE_WIDTH = 1600 };

/* Returns the first wall or sphere along a ray from inside. */
static float photon_hit(vec3 eye, vec3 direction) {
    float nearest = INFINITY;
    for (int axis = 0; axis < 3; ++axis) {
        const float w = vec3_axis(direction, axis), e = vec3_axis(eye, axis);
        if (w != 0) nearest = float_min(nearest, ((w > 0 ? 1 : 0) - e) / w);
    }
    for (int which = 0; which < 3; ++which) {
        const vec3 off = vec3_sub(eye, sphere_centre(which));
        const float r = sphere_radius(which), b = vec3_dot(off, direction);
        const float inside = b * b - vec3_dot(direction, direction) * (vec3_dot(off, off) - r * r);
        if (inside < 0) continue;
        const float t = (-b - sqrtf(inside)) / vec3_dot(direction, direction);
        if (t > 0) nearest = float_min(nearest, t);
    }
    return nearest;
}

void bench_image_fill(vec3 *points, uint64_t count) {
    const vec3 eye = {0.5f, 0.55f, 0.02f};
    const uint64_t height = (count + IMAGE_WIDTH - 1) / IMAGE_WIDTH;
    for (uint64_t i = 0; i < count; ++i) {
        const float x = ((float)(i % IMAGE_WIDTH) + 0.5f) / IMAGE_WIDTH - 0.5f;
        const float y = ((float)(i / IMAGE_WIDTH) + 0.5f) / (float)height - 0.5f;
        const vec3 direction = {2 * x, -1.6f * y - 0.2f, 1};
        points[i] = vec3_along(eye, photon_hit(eye, direction), direction);
    }
}

static const char *const usual[] = {"gen:blob:300000", "gen:blob:1000000", "gen:room:1000000"};
static const char *const quick[] = {"gen:blob:20000"};

int bench_model_count(const bench_request *request) {
    if (request->models.count) return request->models.count;
    return request->quick ? 1 : 3;
}

const char *bench_model_path(const bench_request *request, int index) {
    if (request->models.count) return request->models.items[index];
    return request->quick ? quick[index] : usual[index];
}

bool bench_selects_cuda(const bench_request *request) {
    return device_cuda_count() > 0 && bench_selects(&request->devices, "cuda:0");
}

static void name_of(char *out, size_t capacity, const char *path) {
    if (strncmp(path, "gen:", 4) == 0) {
        snprintf(out, capacity, "%s", path + 4);
        return;
    }
    const char *slash = strrchr(path, '/');
    snprintf(out, capacity, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(out, '.');
    if (dot) *dot = '\0';
}

kd_status bench_model_open(bench_model *out, const char *path) {
    memset(out, 0, sizeof *out);
    name_of(out->name, sizeof out->name, path);
    KD_TRY(mesh_load(&out->shape, path, NULL, NULL));
    out->input.positions = out->shape.positions;
    out->input.triangles = out->shape.triangles;
    out->input.position_count = out->shape.position_count;
    out->input.triangle_count = out->shape.triangle_count;
    return KD_OK;
}

void bench_model_close(bench_model *owned) {
    mesh_close(&owned->shape);
    memset(owned, 0, sizeof *owned);
}
