#include "tools/peers/hard_rays.h"
#include "core/math/sampling.h"
#include "core/memory.h"
#include <string.h>

enum { KINDS = 8 };

/* Returns a vertex, a point of an edge, or an interior point of triangle `id`. */
static vec3 point_of(const tritree_input *input, uint32_t id, float u, float v, uint32_t kind) {
    const uint32_t *index = input->triangles + 3 * (uint64_t)id;
    const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
               c = input->positions[index[2]];
    if (kind == 0) return a;
    if (kind == 1) return vec3_along(a, u, vec3_sub(b, a));
    return vec3_along(vec3_along(a, u, vec3_sub(b, a)), v * (1 - u), vec3_sub(c, a));
}

static ray ray_through(vec3 from, vec3 to) {
    return ray_make(from, vec3_sub(to, from), 0, INFINITY);
}

static ray hard_ray(const tritree *tree, float diagonal, uint64_t i) {
    const tritree_input *input = &tree->input;
    const rng_block r = rng_draw(rng_key_make(7, 3, i), 0, 0),
                    s = rng_draw(rng_key_make(7, 3, i), 0, 1);
    const double count = (double)input->triangle_count;
    const uint32_t id = (uint32_t)(count * (double)r.value[0]),
                   other = (uint32_t)(count * (double)r.value[1]);
    const vec3 size = box3_size(tree->box),
               target = vec3_add(tree->box.lo,
                                 vec3_mul(size, vec3_make(s.value[0], s.value[1], s.value[2])));
    const vec3 corner = point_of(input, id, 0, 0, 0), edge = point_of(input, id, r.value[2], 0, 1),
               inside = point_of(input, id, r.value[2], r.value[3], 2);
    vec3 axis = vec3_all(0), nearly = vec3_all(1e-7f);
    const float sign = s.value[3] < 0.5f ? -1.0f : 1.0f;
    vec3_set_axis(&axis, (int)(i / KINDS % 3), sign * diagonal);
    vec3_set_axis(&nearly, (int)(i / KINDS % 3), sign);
    switch (i % KINDS) {
    case 0: return ray_through(target, corner);
    case 1: return ray_through(target, edge);
    case 2: return ray_through(vec3_sub(corner, axis), corner);
    case 3: return ray_through(vec3_along(inside, -diagonal, nearly), inside);
    case 4: return ray_through(inside, edge); /* in its plane */
    case 5: return ray_through(corner, point_of(input, other, 0, 0, 0));
    case 6: return ray_through(edge, point_of(input, other, r.value[3], 0, 1));
    default: return ray_through(vec3_along(corner, 100, vec3_sub(target, corner)), corner);
    }
}

kd_status hard_rays_open(bench_rays *out, const bench_rays_request *request) {
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE(out->rays, request->random_count));
    out->count = request->random_count;
    const float diagonal = vec3_length(box3_size(request->tree->box));
    for (uint64_t i = 0; i < out->count; ++i) out->rays[i] = hard_ray(request->tree, diagonal, i);
    return KD_OK;
}
