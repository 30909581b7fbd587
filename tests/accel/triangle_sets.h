/* The triangle sets of tests/cases.h as input of a tree builder, and rays to test the trees
   with. */
#ifndef KD_TESTS_TRIANGLE_SETS_H
#define KD_TESTS_TRIANGLE_SETS_H
#include "accel/tree/triangle.h"
#include "accel/tree/tritree.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include "tests/cases.h"
#include "tests/test.h"

typedef struct triangle_set {
    vec3 *positions;
    uint32_t *triangles;
    tritree_input input;
    float size; /* largest side of the set's box */
    vec3 centre;
} triangle_set;

static inline triangle_set triangle_set_make(case_triangles which, uint32_t count) {
    triangle_set set = {0};
    assert_int_equal(KD_RESERVE(set.positions, 3 * (uint64_t)count), KD_OK);
    assert_int_equal(KD_RESERVE(set.triangles, 3 * (uint64_t)count), KD_OK);
    box3 box = box3_empty();
    for (uint32_t i = 0; i < count; ++i) {
        case_triangle(which, i, count, set.positions + 3 * i);
        for (uint32_t k = 0; k < 3; ++k) {
            set.triangles[3 * i + k] = 3 * i + k;
            box3_include(&box, set.positions[3 * i + k]);
        }
    }
    set.input = (tritree_input){set.positions, set.triangles, 3 * count, count};
    set.size = count ? vec3_largest(box3_size(box)) : 1;
    set.centre = count ? box3_centre(box) : vec3_all(0);
    return set;
}

static inline void triangle_set_close(triangle_set *set) {
    memory_free(set->positions);
    memory_free(set->triangles);
}

/* Makes square tiles in the plane y = 0, and one triangle as far above or below them as the floor
   is wide. */
static inline triangle_set triangle_set_floor(uint32_t wide, bool below) {
    const uint32_t count = 2 * wide * wide + 1;
    triangle_set set = triangle_set_make(CASE_SOUP, count);
    for (uint32_t i = 0; i < count; ++i) {
        vec3 *corner = set.positions + 3 * i;
        const bool lamp = i + 1 == count;
        const float x = (float)(i / 2 % wide), z = (float)(i / 2 / wide);
        const float y = lamp ? (below ? -(float)wide : (float)wide) : 0.0f;
        const float odd = i % 2 ? 1.0f : 0.0f;
        corner[0] = vec3_make(lamp ? 0 : x, y, lamp ? 0 : z);
        corner[1] = vec3_add(corner[0], vec3_make(1, -y / 8, 1));
        corner[2] = vec3_add(corner[0], vec3_make(odd, 0, 1 - odd));
    }
    return set;
}

/* Counts the tile references in leaves whose cell has a height, below node `at`, whose cell is
   `box`. */
static inline uint32_t count_tiles_off_floor(const tritree *tree, uint32_t at, box3 box) {
    const tritree_node node = tree->nodes[at];
    if (tritree_is_leaf(node)) {
        uint32_t tiles = 0;
        for (uint32_t i = 0; i < tritree_count(node) && box.lo.y < box.hi.y; ++i)
            tiles += tree->references[tritree_first(node) + i] + 1 < tree->input.triangle_count;
        return tiles;
    }
    box3 left = box, right = box;
    vec3_set_axis(&left.hi, tritree_axis(node), node.split);
    vec3_set_axis(&right.lo, tritree_axis(node), node.split);
    return count_tiles_off_floor(tree, tritree_left(node), left) +
           count_tiles_off_floor(tree, tritree_left(node) + 1, right);
}

/* Returns ray i of one of six kinds: between random points, through corners, through edges, along
   axes, in planes of corners. */
static inline ray triangle_set_ray(const triangle_set *set, uint32_t i) {
    const rng_block r = rng_draw(rng_key_make(99, 1, i), 0, 0),
                    s = rng_draw(rng_key_make(99, 2, i), 0, 0);
    const vec3 spread = vec3_make(r.value[0] - 0.5f, r.value[1] - 0.5f, r.value[2] - 0.5f);
    vec3 origin = vec3_along(set->centre, 2 * set->size, spread);
    vec3 target = vec3_along(set->centre, set->size,
                             vec3_make(s.value[0] - 0.5f, s.value[1] - 0.5f, s.value[2] - 0.5f));
    const uint32_t n = set->input.position_count;
    if (n) {
        const uint32_t corner = (uint32_t)(r.value[3] * (float)n) % n;
        const vec3 p = set->positions[corner],
                   q = set->positions[corner / 3 * 3 + (corner + 1) % 3];
        if (i % 6 == 1) target = p;
        if (i % 6 == 2) target = vec3_along(p, s.value[3], vec3_sub(q, p));
        if (i % 6 == 3) origin = p;
        if (i % 6 == 4) { /* along an axis, through a corner's plane */
            target = origin;
            vec3_set_axis(&origin, (int)(i / 6 % 3), vec3_axis(p, (int)(i / 6 % 3)));
            target = origin;
            const int along = (int)(i / 18 % 3);
            vec3_set_axis(&target, along,
                          vec3_axis(origin, along) + (i / 54 % 2 ? -1.0f : 1.0f) * set->size);
        }
        if (i % 6 == 5) { /* in an axis plane through a corner */
            vec3_set_axis(&origin, (int)(i / 6 % 3), vec3_axis(p, (int)(i / 6 % 3)));
            vec3_set_axis(&target, (int)(i / 6 % 3), vec3_axis(p, (int)(i / 6 % 3)));
        }
    }
    return ray_make(origin, vec3_sub(target, origin), 0, i % 7 ? INFINITY : 1);
}

#endif
