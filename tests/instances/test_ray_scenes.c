/* Queries on scenes of rays return what testing every triangle of every instance returns, bit for
   bit, for any transforms, masks and worlds, after changes, and for any number of threads. */
#include "core/parallel/parallel.h"
#include "ray_scene_cases.h"

enum { RAYS = 240, FIRST = 3 };

typedef struct ray_set {
    kd_ray rays[RAYS];
    uint32_t masks[RAYS], worlds[RAYS], ignored[RAYS][2];
    kd_scene_hit expected[RAYS][LIST];
    uint32_t counts[RAYS];
    kd_ray_query query;
} ray_set;

/* Makes rays of every kind, and lists their hits by testing every triangle. */
static void make_rays(ray_set *set, const scene_case *c, bool ignore) {
    for (uint32_t i = 0; i < RAYS; ++i) {
        ray ray = nasty_ray(&c->copies, i);
        case_view view = case_view_of(i);
        if (i % 16 == 7) ray.origin.y = NAN;
        if (i % 16 == 9) ray.direction = vec3_all(0);
        if (ignore && case_hits(c, ray, view, set->expected[i]) > 0) {
            view.ignored[0] = set->expected[i][0].instance;
            view.ignored[1] = set->expected[i][0].triangle;
        }
        set->counts[i] = case_hits(c, ray, view, set->expected[i]);
        memcpy(&set->rays[i], &ray, sizeof ray);
        set->masks[i] = view.mask;
        set->worlds[i] = view.world;
        memcpy(set->ignored[i], view.ignored, sizeof view.ignored);
    }
    kd_ray_query_default(&set->query);
    set->query.count = RAYS;
    set->query.rays = set->rays;
    set->query.masks = set->masks;
    set->query.worlds = set->worlds;
    set->query.ignored = ignore ? set->ignored[0] : NULL;
}

/* Compares without the normal, whose length must be 1. */
static void expect_hit(const kd_scene_hit *expected, const kd_scene_hit *hit, uint32_t ray,
                       uint32_t rank) {
    if (memcmp(expected, hit, offsetof(kd_scene_hit, normal)) != 0)
        fail_msg("hit %u of ray %u: triangle %u of instance %u at %a, expected %u of %u at %a",
                 rank, ray, hit->triangle, hit->instance, (double)hit->t, expected->triangle,
                 expected->instance, (double)expected->t);
    assert_true(fabsf(hit->normal[0] * hit->normal[0] + hit->normal[1] * hit->normal[1] +
                      hit->normal[2] * hit->normal[2] - 1) < 1e-6f);
}

static void expect_miss(const kd_scene_hit *hit, const kd_ray *ray) {
    assert_true(hit->t == ray->tmax && hit->u == 0 && hit->v == 0 &&
                hit->triangle == KD_NO_TRIANGLE && hit->instance == KD_NO_INSTANCE &&
                hit->geometry == KD_NO_INSTANCE && hit->normal[0] == 0);
}

static uint32_t expect_queries(const scene_case *c, const ray_set *set) {
    static kd_scene_hit hits[RAYS * LIST];
    static uint32_t counts[RAYS];
    static uint8_t blocked[RAYS];
    static uint64_t offsets[RAYS + 1];
    uint32_t total = 0;
    ok(kd_ray_scene_intersect(c->scene, &set->query, hits));
    ok(kd_ray_scene_occluded(c->scene, &set->query, blocked));
    ok(kd_ray_scene_count(c->scene, &set->query, counts));
    for (uint32_t i = 0; i < RAYS; ++i) {
        if (set->counts[i])
            expect_hit(&set->expected[i][0], &hits[i], i, 0);
        else
            expect_miss(&hits[i], &set->rays[i]);
        assert_int_equal(blocked[i], set->counts[i] > 0);
        assert_int_equal(counts[i], set->counts[i]);
        offsets[i + 1] = offsets[i] + counts[i];
        total += counts[i];
    }
    ok(kd_ray_scene_all(c->scene, &set->query, offsets, hits));
    for (uint32_t i = 0; i < RAYS; ++i)
        for (uint32_t k = 0; k < counts[i]; ++k)
            expect_hit(&set->expected[i][k], &hits[offsets[i] + k], i, k);
    ok(kd_ray_scene_first(c->scene, &set->query, FIRST, hits, counts));
    for (uint32_t i = 0; i < RAYS; ++i) {
        assert_int_equal(counts[i], set->counts[i] < FIRST ? set->counts[i] : FIRST);
        for (uint32_t k = 0; k < FIRST; ++k)
            if (k < counts[i])
                expect_hit(&set->expected[i][k], &hits[i * FIRST + k], i, k);
            else
                expect_miss(&hits[i * FIRST + k], &set->rays[i]);
    }
    return total;
}

static void test_rays_match_all_triangles(void **state) {
    (void)state;
    static scene_case c;
    static ray_set set;
    uint32_t hits = 0;
    for (uint32_t which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        if (test_leaves_out(which, 4)) continue;
        case_open(&c, which, which % 2 ? 0 : 5e6, "cpu");
        parallel_set_threads(which % 3 == 0 ? 1 : 2);
        make_rays(&set, &c, which % 2);
        hits += expect_queries(&c, &set);
        case_close(&c);
    }
    parallel_set_threads(0);
    print_message("%u hits\n", hits);
    assert_true(TEST_HAS_SANITIZER || hits > 1000);
}

/* Instances, geometries and masks change between calls. */
static void test_changes(void **state) {
    (void)state;
    static scene_case c;
    static ray_set set;
    case_open(&c, 0, 0, "cpu");
    make_rays(&set, &c, false);
    for (uint32_t i = 0; i < PUT; ++i) {
        const transform transform = case_transform(3 * i + 1, c.sets[0].size);
        case_move(&c, i, &transform);
        ok(kd_ray_scene_set_transforms(c.scene, i, c.instances[i].transform, 1));
    }
    static uint32_t counts[RAYS];
    assert_int_equal(kd_ray_scene_count(c.scene, &set.query, counts), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "kd_ray_scene_commit"));
    ok(kd_ray_scene_commit(c.scene));
    case_place(&c);
    make_rays(&set, &c, false);
    expect_queries(&c, &set);

    for (uint32_t i = 0; i < PUT; ++i) c.instances[i].mask = i % 3 ? 0 : 3;
    c.instances[5].world = 2;
    ok(kd_ray_scene_set_instances(c.scene, 0, c.instances, PUT));
    ok(kd_ray_scene_commit(c.scene));
    make_rays(&set, &c, false);
    expect_queries(&c, &set);

    kd_triangles *before = c.trees[1];
    for (uint32_t k = 0; k < 3 * SET_TRIANGLES; ++k)
        c.sets[1].positions[k].x += 0.25f * (float)(k % 5);
    c.trees[1] = case_tree(&c.sets[1], "cpu");
    ok(kd_ray_scene_set_geometry(c.scene, 1, c.trees[1]));
    kd_triangles_close(before);
    ok(kd_ray_scene_commit(c.scene));
    case_place(&c);
    make_rays(&set, &c, false);
    expect_queries(&c, &set);
    case_close(&c);
}

static void test_nearest_points(void **state) {
    (void)state;
    enum { POINTS = 160 };
    static scene_case c;
    for (uint32_t which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        static vec3 points[POINTS];
        static uint32_t masks[POINTS], worlds[POINTS];
        static kd_scene_near found[POINTS];
        if (test_leaves_out(which, 4)) continue;
        case_open(&c, which, which % 2 ? 1e6 : 0, "cpu");
        kd_point_query query;
        kd_point_query_default(&query);
        assert_true(query.max_distance == INFINITY);
        query.points = &points[0].x;
        query.count = POINTS;
        query.masks = masks;
        query.worlds = worlds;
        if (which % 3 == 2) query.max_distance = 0.1f * c.copies.size;
        for (uint32_t i = 0; i < POINTS; ++i) {
            points[i] = nearest_point_case(&c.copies, i);
            if (i == 11) points[i].x = NAN;
            masks[i] = case_view_of(i).mask;
            worlds[i] = case_view_of(i).world;
        }
        ok(kd_ray_scene_closest_point(c.scene, &query, found));
        for (uint32_t i = 0; i < POINTS; ++i) {
            const kd_scene_near expected =
                case_nearest(&c, points[i], case_view_of(i), query.max_distance);
            if (memcmp(&expected, &found[i], sizeof expected) != 0)
                fail_msg("%s, point %u: triangle %u of instance %u at %a, expected %u of %u at %a",
                         case_triangles_name((case_triangles)which), i, found[i].triangle,
                         found[i].instance, (double)found[i].distance, expected.triangle,
                         expected.instance, (double)expected.distance);
        }
        case_close(&c);
    }
}

/* A square of two triangles in the plane z = 0, and one ray down through their common edge. */
static const float square[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
static const uint32_t square_triangles[2][3] = {{0, 1, 2}, {0, 2, 3}};

static kd_triangles *open_square(void) {
    kd_triangles *tree = NULL;
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(square[0], 4, square_triangles[0], 2);
    ok(kd_triangles_open(&tree, &mesh, NULL));
    return tree;
}

static double many_random(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 24);
}

/* A rotation, scaled or mirrored, somewhere in a cube. */
static void many_pose(double m[12], uint32_t i) {
    const double scale = i % 5 == 1 ? 1e-3 : i % 5 == 2 ? -1.5 : 1, angle = 6.3 * many_random();
    const int axis = (int)(i % 3), other = (axis + 1) % 3, last = (axis + 2) % 3;
    memset(m, 0, 12 * sizeof *m);
    m[4 * axis + axis] = scale;
    m[4 * other + other] = m[4 * last + last] = cos(angle) * (i % 7 ? scale : 0.1);
    m[4 * other + last] = sin(angle) * (i % 7 ? scale : 0.1);
    m[4 * last + other] = -m[4 * other + last];
    for (int k = 0; k < 3; ++k) m[4 * k + 3] = 30 * many_random() - 15;
}

enum { MANY_WORLDS = 7, COUNT = 300, MANY = TEST_HAS_SANITIZER ? 500 : 4000 };

/* Rays to instances, most of them in a world where the ray sees the instance. */
static void many_rays(const kd_ray_instance *instances, kd_ray *rays, uint32_t *worlds,
                      uint32_t *masks) {
    for (uint32_t i = 0; i < MANY; ++i) {
        const uint32_t to = (uint32_t)(COUNT * many_random());
        for (int k = 0; k < 3; ++k) {
            rays[i].origin[k] = (float)(40 * many_random() - 20);
            rays[i].direction[k] =
                (float)(instances[to].transform[4 * k + 3] + 0.3 * many_random()) -
                rays[i].origin[k];
        }
        rays[i].tmin = 0;
        rays[i].tmax = i % 9 ? INFINITY : 0.9f;
        worlds[i] =
            instances[to].world < MANY_WORLDS && i % 10 ? instances[to].world : i % MANY_WORLDS;
        masks[i] = i % 4 ? 1 : 2;
    }
}

/* In worlds of no instance to some 90, whose rays come in no order, the closest hit is the first of
   the list, which takes another traversal (tested above). */
static void test_many_instances(void **state) {
    (void)state;
    enum { SOUP = 150 };
    static float soup[SOUP][3][3];
    static kd_ray_instance instances[COUNT];
    static kd_ray rays[MANY];
    static uint32_t worlds[MANY], masks[MANY], counts[MANY];
    static kd_scene_hit hits[MANY], first[MANY];
    static uint8_t blocked[MANY];
    kd_triangles *trees[3] = {NULL, open_square(), NULL};
    kd_ray_scene *scene = NULL;
    kd_ray_query query;
    uint32_t found = 0;
    for (uint32_t i = 0; i < 9 * SOUP; ++i)
        soup[i / 9][i / 3 % 3][i % 3] =
            (float)(0.4 * many_random() + (double)(i / 9 % 5) * 0.2 - (double)(i % 3) * 0.1);
    const kd_triangle_mesh one = kd_triangle_mesh_make(soup[0][0], 3, NULL, 1),
                           all = kd_triangle_mesh_make(soup[0][0], 3 * SOUP, NULL, SOUP);
    ok(kd_triangles_open(&trees[0], &one, NULL));
    ok(kd_triangles_open(&trees[2], &all, NULL));
    ok(kd_ray_scene_open(&scene, MANY_WORLDS));
    for (uint32_t i = 0; i < 3; ++i) ok(kd_ray_scene_add_geometry(scene, trees[i], NULL));
    for (uint32_t i = 0; i < COUNT; ++i) {
        instances[i] = kd_ray_instance_make(i % 3);
        instances[i].world = i % 11 == 0 ? KD_EVERY_WORLD
                             : i < 2     ? 1
                                         : 2 + i * i % (MANY_WORLDS - 2);
        instances[i].mask = i % 13 ? 3 : 1;
    }
    ok(kd_ray_scene_add_instances(scene, instances, COUNT, NULL));
    kd_ray_query_default(&query);
    query.count = MANY;
    query.rays = rays;
    query.worlds = worlds;
    query.masks = masks;
    for (int move = 0; move < 2; ++move) {
        for (uint32_t i = 0; i < COUNT; ++i) {
            many_pose(instances[i].transform, i);
            ok(kd_ray_scene_set_transforms(scene, i, instances[i].transform, 1));
        }
        ok(kd_ray_scene_commit(scene));
        many_rays(instances, rays, worlds, masks);
        ok(kd_ray_scene_intersect(scene, &query, hits));
        ok(kd_ray_scene_occluded(scene, &query, blocked));
        ok(kd_ray_scene_first(scene, &query, 1, first, counts));
        for (uint32_t i = 0; i < MANY; ++i) {
            if (counts[i])
                expect_hit(&first[i], &hits[i], i, 0);
            else
                expect_miss(&hits[i], &rays[i]);
            assert_int_equal(blocked[i], counts[i]);
            found += counts[i];
        }
    }
    print_message("%u hits\n", found);
    assert_true(found > MANY / 4);
    kd_ray_scene_close(scene);
    for (uint32_t i = 0; i < 3; ++i) kd_triangles_close(trees[i]);
}

static void test_normals_and_shared_edges(void **state) {
    (void)state;
    kd_triangles *tree = open_square();
    kd_ray_scene *scene = NULL;
    kd_ray_instance instances[3];
    uint32_t first = 7;
    ok(kd_ray_scene_open(&scene, 1));
    ok(kd_ray_scene_add_geometry(scene, tree, NULL));
    for (uint32_t i = 0; i < 3; ++i) {
        instances[i] = kd_ray_instance_make(0);
        instances[i].transform[11] = -(double)i; /* one below the other */
    }
    instances[1].transform[0] = -1; /* mirrored */
    instances[1].transform[3] = 1;
    instances[2].transform[10] = -1;
    ok(kd_ray_scene_add_instances(scene, instances, 3, &first));
    assert_int_equal(first, 0);
    ok(kd_ray_scene_commit(scene));
    const kd_ray ray = {{0.5f, 0.5f, 2}, 0, {0, 0, -2}, INFINITY};
    kd_ray_query query;
    kd_ray_query_default(&query);
    query.count = 1;
    query.rays = &ray;
    kd_scene_hit hits[6];
    const uint64_t offsets[2] = {0, 6};
    uint32_t count = 0;
    ok(kd_ray_scene_count(scene, &query, &count));
    assert_int_equal(count, 6); /* the ray passes through the diagonal of each square */
    ok(kd_ray_scene_all(scene, &query, offsets, hits));
    for (uint32_t i = 0; i < 6; ++i) {
        assert_int_equal(hits[i].instance, i / 2);
        assert_int_equal(hits[i].triangle, i % 2);
        assert_true(hits[i].t == 1 + 0.5f * (float)(i / 2));
        assert_true(hits[i].normal[2] == (i / 2 == 2 ? -1.0f : 1.0f));
    }
    float attribute[4][2] = {{0, 0}, {2, 0}, {2, 4}, {0, 4}}, out[6][2];
    ok(kd_ray_scene_interpolate(scene, 0, attribute[0], 2, hits, 6, out[0]));
    for (uint32_t i = 0; i < 6; ++i) assert_true(out[i][0] == 1 && out[i][1] == 2);
    hits[2].triangle = 2;
    assert_int_equal(kd_ray_scene_interpolate(scene, 0, attribute[0], 2, hits, 6, out[0]),
                     KD_ERROR_USAGE);
    kd_ray_scene_close(scene);
    kd_triangles_close(tree);
}

static void test_empty_scenes(void **state) {
    (void)state;
    kd_ray_scene *scene = NULL;
    kd_scene_hit hit;
    uint32_t count = 9;
    uint8_t blocked = 9;
    kd_scene_near near;
    const kd_ray ray = {{0.5f, 0.5f, 2}, 0, {0, 0, -2}, 9};
    const float point[3] = {0, 0, 0};
    kd_ray_query query;
    kd_point_query points;
    kd_ray_query_default(&query);
    kd_point_query_default(&points);
    query.count = points.count = 1;
    query.rays = &ray;
    points.points = point;
    ok(kd_ray_scene_open(&scene, 2));
    assert_int_equal(kd_ray_scene_intersect(scene, &query, &hit), KD_ERROR_USAGE);
    kd_triangles *none = NULL;
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(NULL, 0, NULL, 0);
    ok(kd_triangles_open(&none, &mesh, NULL));
    for (int step = 0; step < 3; ++step) { /* empty; an unused geometry; an empty instance */
        const kd_ray_instance instance = kd_ray_instance_make(0);
        if (step == 1) ok(kd_ray_scene_add_geometry(scene, none, NULL));
        if (step == 2) ok(kd_ray_scene_add_instances(scene, &instance, 1, NULL));
        ok(kd_ray_scene_commit(scene));
        ok(kd_ray_scene_intersect(scene, &query, &hit));
        expect_miss(&hit, &ray);
        ok(kd_ray_scene_occluded(scene, &query, &blocked));
        ok(kd_ray_scene_count(scene, &query, &count));
        assert_true(blocked == 0 && count == 0);
        ok(kd_ray_scene_first(scene, &query, 0, NULL, NULL));
        ok(kd_ray_scene_closest_point(scene, &points, &near));
        assert_true(near.distance == INFINITY && near.instance == KD_NO_INSTANCE);
        kd_ray_scene_info info;
        kd_ray_scene_describe(scene, &info);
        assert_true(info.lo[0] > info.hi[0] && info.worlds == 2 && info.triangles == 0);
    }
    kd_ray_scene_close(scene);
    kd_triangles_close(none);
}

static void test_invalid_arguments_are_rejected(void **state) {
    (void)state;
    kd_triangles *tree = open_square();
    kd_ray_scene *scene = NULL;
    kd_ray_instance instance = kd_ray_instance_make(1);
    assert_int_equal(kd_ray_scene_open(&scene, 0), KD_ERROR_USAGE);
    assert_int_equal(kd_ray_scene_open(&scene, KD_EVERY_WORLD), KD_ERROR_USAGE);
    ok(kd_ray_scene_open(&scene, 2));
    ok(kd_ray_scene_add_geometry(scene, tree, NULL));
    assert_int_equal(kd_ray_scene_set_geometry(scene, 1, tree), KD_ERROR_USAGE);
    assert_int_equal(kd_ray_scene_add_instances(scene, &instance, 1, NULL), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "instances[0].geometry"));
    instance.geometry = 0;
    instance.world = 2;
    assert_int_equal(kd_ray_scene_add_instances(scene, &instance, 1, NULL), KD_ERROR_USAGE);
    instance.world = 1;
    ok(kd_ray_scene_add_instances(scene, &instance, 1, NULL));
    assert_int_equal(kd_ray_scene_set_instances(scene, 1, &instance, 1), KD_ERROR_USAGE);
    assert_int_equal(kd_ray_scene_set_transforms(scene, 0, instance.transform, 2), KD_ERROR_USAGE);
    instance.transform[5] = 0;
    ok(kd_ray_scene_add_instances(scene, &instance, 1, NULL));
    assert_int_equal(kd_ray_scene_commit(scene), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "instance 1: "));
    for (int i = 0; i < 2; ++i) {
        instance.transform[5] = i ? (double)NAN : 1;
        instance.transform[3] = i ? 0 : (double)INFINITY;
        ok(kd_ray_scene_set_instances(scene, 1, &instance, 1));
        assert_int_equal(kd_ray_scene_commit(scene), KD_ERROR_INPUT);
    }
    instance.transform[5] = 1;
    ok(kd_ray_scene_set_instances(scene, 1, &instance, 1));
    ok(kd_ray_scene_commit(scene));

    const kd_ray rays[2] = {{{0.5f, 0.25f, 2}, 0, {0, 0, -2}, INFINITY},
                            {{0.5f, 0.25f, 2}, 0, {0, 0, -2}, INFINITY}};
    const uint32_t worlds[2] = {2, 1};
    kd_scene_hit hits[2];
    kd_ray_query query;
    kd_ray_query_default(&query);
    query.count = 2;
    query.rays = rays;
    query.worlds = worlds;
    assert_int_equal(kd_ray_scene_intersect(scene, &query, hits), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "worlds"));
    expect_miss(&hits[0], &rays[0]);
    assert_int_equal(hits[1].instance, 0);
    query.worlds = NULL; /* world 0 is empty */
    ok(kd_ray_scene_intersect(scene, &query, hits));
    expect_miss(&hits[1], &rays[1]);
    const uint64_t offsets[3] = {0, 2, 1};
    assert_int_equal(kd_ray_scene_all(scene, &query, offsets, hits), KD_ERROR_USAGE);
    kd_ray_scene_close(scene);
    kd_triangles_close(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rays_match_all_triangles),
                                       cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_nearest_points),
                                       cmocka_unit_test(test_many_instances),
                                       cmocka_unit_test(test_normals_and_shared_edges),
                                       cmocka_unit_test(test_empty_scenes),
                                       cmocka_unit_test(test_invalid_arguments_are_rejected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
