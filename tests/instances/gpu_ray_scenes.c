/* Queries on scenes of rays on a CUDA device equal those on the CPU, bit for bit, for arrays in
   host and in device memory. */
#include "core/device/device_memory.h"
#include "ray_scene_cases.h"
#include "tests/gpu.h"

enum { RAYS = 2000, FIRST = 4, POINTS = 500 };

typedef struct answers {
    kd_scene_hit closest[RAYS], first[RAYS * FIRST];
    uint8_t blocked[RAYS];
    uint32_t counts[RAYS], found[RAYS];
    kd_scene_near nearest[POINTS];
} answers;

typedef struct questions {
    kd_ray rays[RAYS];
    uint32_t masks[RAYS], worlds[RAYS], ignored[RAYS][2];
    vec3 points[POINTS];
} questions;

static void make_questions(questions *q, const scene_case *c, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        ray ray = nasty_ray(&c->copies, i);
        const case_view view = case_view_of(i);
        if (i % 16 == 7) ray.origin.y = NAN;
        memcpy(&q->rays[i], &ray, sizeof ray);
        q->masks[i] = view.mask;
        q->worlds[i] = view.world;
        q->ignored[i][0] = i % PUT;
        q->ignored[i][1] = i % SET_TRIANGLES;
    }
    for (uint32_t i = 0; i < POINTS; ++i) q->points[i] = nearest_point_case(&c->copies, i);
}

static kd_ray_query query_of(const questions *q, uint32_t count) {
    kd_ray_query query;
    kd_ray_query_default(&query);
    query.count = count;
    query.rays = q->rays;
    query.masks = q->masks;
    query.worlds = q->worlds;
    query.ignored = q->ignored[0];
    return query;
}

static void answer(answers *a, const scene_case *c, const questions *q, uint32_t count) {
    const kd_ray_query query = query_of(q, count);
    kd_point_query points;
    kd_point_query_default(&points);
    points.count = count < POINTS ? count : POINTS;
    points.points = &q->points[0].x;
    points.masks = q->masks;
    points.worlds = q->worlds;
    memset(a, 0, sizeof *a);
    ok(kd_ray_scene_intersect(c->scene, &query, a->closest));
    ok(kd_ray_scene_occluded(c->scene, &query, a->blocked));
    ok(kd_ray_scene_count(c->scene, &query, a->counts));
    ok(kd_ray_scene_first(c->scene, &query, FIRST, a->first, a->found));
    ok(kd_ray_scene_closest_point(c->scene, &points, a->nearest));
}

/* All hits as rows, of which some are too short and some too long. */
static uint64_t answer_all(const scene_case *c, const questions *q, uint32_t count,
                           const uint32_t *counts, kd_scene_hit **hits) {
    static uint64_t offsets[RAYS + 1];
    const kd_ray_query query = query_of(q, count);
    for (uint32_t i = 0; i < count; ++i)
        offsets[i + 1] = offsets[i] + (i % 7 == 3 ? counts[i] / 2 : counts[i] + (i % 5 == 1));
    *hits = (kd_scene_hit *)calloc(offsets[count] + 1, sizeof **hits);
    ok(kd_ray_scene_all(c->scene, &query, offsets, *hits));
    return offsets[count];
}

static void test_device_equals_cpu(void **state) {
    (void)state;
    static scene_case cpu, gpu;
    static questions q;
    static answers expected, found;
    const uint32_t count = gpu_size(RAYS, 300);
    for (uint32_t which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        if (gpu_leaves_out(which, 3)) continue;
        case_open(&cpu, which, which % 2 ? 1e5 : 0, "cpu");
        case_open(&gpu, which, which % 2 ? 1e5 : 0, "cuda:0");
        make_questions(&q, &cpu, count);
        answer(&expected, &cpu, &q, count);
        answer(&found, &gpu, &q, count);
        assert_memory_equal(&expected, &found, sizeof expected);
        kd_scene_hit *all[2];
        const uint64_t total = answer_all(&cpu, &q, count, expected.counts, &all[0]);
        assert_true(answer_all(&gpu, &q, count, expected.counts, &all[1]) == total);
        assert_memory_equal(all[0], all[1], total * sizeof **all);
        free(all[0]);
        free(all[1]);
        /* moved: the device's copy follows */
        const transform unmoved = transform_identity();
        for (uint32_t i = 0; i < PUT; i += 2) {
            case_move(&cpu, i, &unmoved);
            ok(kd_ray_scene_set_transforms(cpu.scene, i, cpu.instances[i].transform, 1));
            ok(kd_ray_scene_set_transforms(gpu.scene, i, cpu.instances[i].transform, 1));
        }
        ok(kd_ray_scene_commit(cpu.scene));
        ok(kd_ray_scene_commit(gpu.scene));
        answer(&expected, &cpu, &q, count);
        answer(&found, &gpu, &q, count);
        assert_memory_equal(&expected, &found, sizeof expected);
        case_close(&cpu);
        case_close(&gpu);
    }
}

static void *on_device(const void *data, uint64_t bytes) {
    void *copy = NULL;
    assert_int_equal(device_memory_reserve(&copy, bytes), KD_OK);
    if (data) assert_int_equal(device_memory_upload(copy, data, bytes), KD_OK);
    return copy;
}

static void test_device_pointers(void **state) {
    (void)state;
    enum { COUNT = 200 };
    static scene_case gpu;
    static questions q;
    static kd_scene_hit expected[COUNT], found[COUNT];
    case_open(&gpu, 0, 0, "cuda:0");
    make_questions(&q, &gpu, COUNT);
    kd_ray_query query = query_of(&q, COUNT);
    ok(kd_ray_scene_intersect(gpu.scene, &query, expected));
    void *const copies[] = {on_device(q.rays, sizeof q.rays), on_device(q.masks, sizeof q.masks),
                            on_device(q.worlds, sizeof q.worlds), on_device(NULL, sizeof found)};
    query.rays = (const kd_ray *)copies[0];
    query.masks = (const uint32_t *)copies[1];
    query.worlds = (const uint32_t *)copies[2];
    ok(kd_ray_scene_intersect(gpu.scene, &query, (kd_scene_hit *)copies[3]));
    assert_int_equal(device_memory_download(found, copies[3], sizeof found), KD_OK);
    assert_memory_equal(expected, found, sizeof found);
    q.worlds[5] = WORLDS;
    query.worlds = q.worlds;
    assert_int_equal(kd_ray_scene_intersect(gpu.scene, &query, found), KD_ERROR_USAGE);
    for (int i = 0; i < 4; ++i) device_memory_free(copies[i]);
    kd_triangles *other = case_tree(&gpu.sets[0], "cpu");
    ok(kd_ray_scene_set_geometry(gpu.scene, 1, other));
    assert_int_equal(kd_ray_scene_commit(gpu.scene), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "another device"));
    kd_triangles_close(other);
    case_close(&gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_device_equals_cpu),
                                       cmocka_unit_test(test_device_pointers)};
    return gpu_is_missing() ? TEST_SKIPPED : cmocka_run_group_tests(tests, NULL, NULL);
}
