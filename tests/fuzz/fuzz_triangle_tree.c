/* Arbitrary triangles through every builder: the tree holds its invariants, and rays return the
   hits that brute force finds. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/tree/triangle.h"
#include "accel/tree/tritree.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

enum { CORNERS_MAX = 192, RAYS = 16 };

static vec3 corners[CORNERS_MAX];
static uint32_t indices[CORNERS_MAX];

static vec3 read_vec3(fuzz_bytes *bytes) {
    const float x = fuzz_number(bytes), y = fuzz_number(bytes), z = fuzz_number(bytes);
    return vec3_make(x, y, z);
}

/* The definition: the nearest hit of all triangles, of those at the same t the first. */
static ray_hit intersect_each(const tritree_input *input, ray ray) {
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        float t = 0, u = 0, v = 0;
        if (triangle_is_degenerate(a, b, c)) continue;
        if (triangle_intersect(&precomputed, a, b, c, &t, &u, &v) && t > ray.tmin && t < best.t) {
            const ray_hit hit = {t, u, v, id};
            best = hit;
        }
    }
    return best;
}

static void build_and_query(const char *builder, const tritree_input *input,
                            const tritree_options *options, const ray *rays,
                            const ray_hit *expected) {
    tritree tree;
    ray_hit hits[RAYS];
    FUZZ_REQUIRE(tritree_open(&tree, input, options, builder, NULL) == KD_OK);
    if (tritree_check(&tree) != KD_OK) fprintf(stderr, "%s: %s\n", builder, kd_last_error());
    FUZZ_REQUIRE(tritree_check(&tree) == KD_OK);
    const tritree_view view = tritree_get_view(&tree);
    FUZZ_REQUIRE(trace_closest(&view, rays, hits, RAYS, NULL, NULL) == KD_OK);
    for (int i = 0; i < RAYS; ++i)
        if (memcmp(&hits[i], &expected[i], sizeof *expected) != 0) {
            fprintf(stderr, "%s: ray %d meets triangle %d at %.9g, expected %d at %.9g\n", builder,
                    i, (int)hits[i].triangle, (double)hits[i].t, (int)expected[i].triangle,
                    (double)expected[i].t);
            FUZZ_REQUIRE(hits[i].triangle == expected[i].triangle && hits[i].t == expected[i].t);
            FUZZ_REQUIRE(hits[i].u == expected[i].u && hits[i].v == expected[i].v);
        }
    tritree_close(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    fuzz_bytes from = {bytes, count, 0};
    from.kind = fuzz_byte(&from);
    tritree_options options = tritree_options_default();
    options.traversal_cost = (float)(fuzz_byte(&from) % 8) / 4;
    options.max_depth = fuzz_byte(&from) % 24;
    const uint32_t corner_count = 3u + fuzz_byte(&from) % (CORNERS_MAX - 2);
    vec3 ends[2 * RAYS];
    ray rays[RAYS];
    ray_hit expected[RAYS];
    for (int i = 0; i < 2 * RAYS; ++i) ends[i] = read_vec3(&from);
    uint32_t corners_read = 0;
    while (corners_read < corner_count && from.left >= 6)
        corners[corners_read++] = read_vec3(&from);
    for (uint32_t i = 0; i < CORNERS_MAX; ++i) /* the other triangles share corners */
        indices[i] = corners_read ? (i < corners_read ? i : i * 7 % corners_read) : 0;
    const uint32_t triangles = corners_read ? corner_count / 3 : 0;
    const tritree_input input = {corners, indices, corners_read, triangles};
    for (int i = 0; i < RAYS; ++i) {
        const vec3 end = i % 2 && corners_read ? corners[(uint32_t)i % corners_read] : ends[2 * i];
        rays[i] =
            ray_make(ends[2 * i + 1], vec3_sub(end, ends[2 * i + 1]), 0, i % 5 ? INFINITY : 1);
        expected[i] = intersect_each(&input, rays[i]);
    }
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        build_and_query((*row)->name, &input, &options, rays, expected);
    return 0;
}
