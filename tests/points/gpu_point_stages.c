/* A build whose stages are timed gives the same tree, and reports for each stage the bytes that it
   must move, as predicted from the number of points. */
#include "core/device/device_memory.h"
#include "points/select/builders.h"
#include "tests/cases.h"
#include "tests/gpu.h"

typedef struct staged_tree {
    uint32_t *ids;
    double seconds[POINT_STAGES], bytes[POINT_STAGES];
    int intervals;
} staged_tree;

static void build(staged_tree *out, uint32_t count, pointtree_split split, bool with_stages) {
    point_build_cuda a;
    point_build_stages stages;
    void *points = NULL;
    vec3 *cloud = (vec3 *)malloc(count * sizeof *cloud);
    memset(&a, 0, sizeof a);
    memset(out, 0, sizeof *out);
    out->ids = (uint32_t *)malloc(count * sizeof *out->ids);
    assert_true(cloud && out->ids);
    for (uint32_t i = 0; i < count; ++i) cloud[i] = case_point(CASE_UNIFORM, i, count);
    assert_int_equal(device_memory_reserve(&points, count * sizeof *cloud), KD_OK);
    assert_int_equal(device_memory_upload(points, cloud, count * sizeof *cloud), KD_OK);
    a.points = point_array_make(points, count, 3, POINT_FLOAT);
    a.split = split;
    assert_int_equal(device_memory_reserve((void **)&a.ids, count * sizeof *a.ids), KD_OK);
    assert_int_equal(device_memory_reserve((void **)&a.axes, count), KD_OK);
    assert_int_equal(point_builders_cuda[0]->scratch_bytes(&a.scratch_bytes, &a), KD_OK);
    assert_int_equal(device_memory_reserve(&a.scratch, a.scratch_bytes), KD_OK);
    assert_int_equal(point_build_stages_open(&stages), KD_OK);
    a.stages = with_stages ? &stages : NULL;
    assert_int_equal(point_builders_cuda[0]->build(&a), KD_OK);
    assert_int_equal(device_wait(), KD_OK);
    assert_int_equal(point_build_stages_read(&stages, out->seconds), KD_OK);
    memcpy(out->bytes, stages.bytes, sizeof out->bytes);
    out->intervals = stages.intervals;
    assert_int_equal(device_memory_download(out->ids, a.ids, count * sizeof *a.ids), KD_OK);
    point_build_stages_close(&stages);
    device_memory_free(points);
    device_memory_free(a.ids);
    device_memory_free(a.axes);
    device_memory_free(a.scratch);
    free(cloud);
}

static void stages_are_told(void **state) {
    (void)state;
    static const uint32_t counts[] = {1000, 100000};
    for (int i = 0; i < 4; ++i) {
        const uint32_t count = counts[i / 2];
        const pointtree_split split = i % 2 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN;
        staged_tree silent, staged;
        build(&silent, count, split, false);
        build(&staged, count, split, true);
        assert_memory_equal(silent.ids, staged.ids, count * sizeof *staged.ids);
        assert_int_equal(silent.intervals, 0);
        assert_true(staged.intervals > 2);
        for (int s = 0; s < POINT_STAGES; ++s) assert_true(staged.seconds[s] >= 0);
        const double n = count, *bytes = staged.bytes;
        assert_true(bytes[POINT_STAGE_BOTTOM] == n * (split == POINTTREE_WIDEST ? 21 : 20));
        /* the bottom stage does all the work: records are packed, no pivot is selected */
        if (count == 1000) {
            assert_true(bytes[POINT_STAGE_MOVE] == n * 28 && bytes[POINT_STAGE_COLLECT] == 0);
        } else {
            /* five levels above the bottom stage: nearly all points are moved on each level, and
               read in one further pass */
            assert_true(bytes[POINT_STAGE_MOVE] > 4 * n * 32);
            assert_true(bytes[POINT_STAGE_MOVE] < 6 * n * (32 + 8));
            assert_true(bytes[POINT_STAGE_COLLECT] > n * 12);
            assert_true(bytes[POINT_STAGE_COLLECT] < n * (12 + 8));
            assert_true(bytes[POINT_STAGE_SELECT] > 0);
        }
        free(silent.ids);
        free(staged.ids);
    }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(stages_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
