/* The leaf index of a tree on a device: the bounding boxes of leaves, half leaves, groups and pairs
   are tight, and each point lies in exactly one leaf, where traversals find it. */
#include "core/device/device_memory.h"
#include "points/neighbours/request.h"
#include "points/select/builders.h"
#include "tests/cases.h"
#include "tests/gpu.h"

typedef struct corners {
    float lo[3], hi[3];
} corners;

/* A device index copied to the host. */
typedef struct index_copy {
    point_index_cuda index; /* its pointers are device pointers */
    float *points, *boxes, *pairs, *nodes;
    uint32_t *ids;
    vec3 *input;
} index_copy;

static void *to_device(const void *host, uint64_t bytes) {
    void *pointer = NULL;
    assert_int_equal(device_memory_reserve(&pointer, bytes + 1), KD_OK);
    if (host) assert_int_equal(device_memory_upload(pointer, host, bytes), KD_OK);
    return pointer;
}

static void *from_device(const void *device_data, uint64_t bytes) {
    void *buffer = malloc(bytes + 1);
    assert_non_null(buffer);
    assert_int_equal(device_memory_download(buffer, device_data, bytes), KD_OK);
    return buffer;
}

static void copy_open(index_copy *copy, case_points set, uint32_t count, pointtree_split split) {
    vec3 *points = (vec3 *)malloc(count * sizeof *points);
    assert_non_null(points);
    for (uint32_t i = 0; i < count; ++i) points[i] = case_point(set, i, count);
    point_build_cuda a;
    memset(&a, 0, sizeof a);
    void *input = to_device(points, count * sizeof *points), *memory = NULL;
    a.points = point_array_make(input, count, 3, POINT_FLOAT);
    a.split = split;
    a.ids = (uint32_t *)to_device(NULL, count * sizeof *a.ids);
    a.axes = (uint8_t *)to_device(NULL, count);
    const point_builder_cuda *builder = point_builders_cuda[0];
    assert_int_equal(builder->scratch_bytes(&a.scratch_bytes, &a), KD_OK);
    a.scratch = to_device(NULL, a.scratch_bytes);
    assert_int_equal(builder->build(&a), KD_OK);
    size_t bytes = 0;
    assert_int_equal(point_index_cuda_bytes(&bytes, &a), KD_OK);
    memory = to_device(NULL, bytes);
    assert_int_equal(point_index_cuda_open(&copy->index, &a, memory, bytes), KD_OK);
    assert_int_equal(device_wait(), KD_OK);
    const point_index_cuda *index = &copy->index;
    const uint64_t boxes = index->box_begin[index->box_levels] + 1;
    copy->points = (float *)from_device(index->points, count * 4ull * sizeof(float));
    copy->boxes = (float *)from_device(index->boxes, boxes * 8 * sizeof(float));
    copy->pairs = (float *)from_device(index->pairs, index->pair_count * 16ull * sizeof(float));
    copy->nodes = (float *)from_device(index->tree.coordinates, count * 3ull * sizeof(float));
    copy->ids = (uint32_t *)from_device(a.ids, count * sizeof *a.ids);
    copy->input = points;
    device_memory_free(input);
    device_memory_free(a.ids);
    device_memory_free(a.axes);
    device_memory_free(a.scratch);
    device_memory_free(memory);
}

static void copy_close(index_copy *copy) {
    free(copy->points);
    free(copy->boxes);
    free(copy->pairs);
    free(copy->nodes);
    free(copy->ids);
    free(copy->input);
}

static corners nothing(void) {
    return (corners){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

static corners around(corners a, const corners *b) {
    for (int axis = 0; axis < 3; ++axis) {
        if (b->lo[axis] < a.lo[axis]) a.lo[axis] = b->lo[axis];
        if (b->hi[axis] > a.hi[axis]) a.hi[axis] = b->hi[axis];
    }
    return a;
}

static void expect_corners(const float *actual, const corners *right) {
    for (int axis = 0; axis < 3; ++axis) {
        assert_true(actual[axis] == right->lo[axis]);
        assert_true(actual[3 + axis] == right->hi[axis]);
    }
}

static corners of_points(const index_copy *copy, uint32_t begin, uint32_t end) {
    corners box = nothing();
    for (uint32_t i = begin; i < end; ++i) {
        corners point;
        memcpy(point.lo, copy->points + 4ull * i, sizeof point.lo);
        memcpy(point.hi, copy->points + 4ull * i, sizeof point.hi);
        box = around(box, &point);
    }
    return box;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Checks the boxes of leaves and of their halves, and that each point occurs once. */
static void check_leaves(const index_copy *copy) {
    const point_index_cuda *index = &copy->index;
    const uint32_t count = index->tree.count;
    char *seen = (char *)calloc(count + 1, 1);
    assert_non_null(seen);
    for (uint32_t leaf = 0; leaf < index->box_count[0]; ++leaf) {
        const float *box = copy->boxes + 8ull * leaf;
        const float *pair = copy->pairs + 16ull * (index->pair_count / 2 + leaf);
        const uint32_t begin = bits_of(box[6]), end = bits_of(box[7]);
        assert_true(begin <= end && end <= count && end - begin <= 64);
        assert_true(bits_of(pair[12]) == begin && bits_of(pair[13]) == end);
        const uint32_t half = begin + (end - begin > 32 ? 32 : 16),
                       middle = half < end ? half : end;
        const corners whole = of_points(copy, begin, end), first = of_points(copy, begin, middle);
        const corners second = of_points(copy, middle, end);
        expect_corners(box, &whole);
        expect_corners(pair, &first);
        expect_corners(pair + 6, &second);
        for (uint32_t i = begin; i < end; ++i) {
            const uint32_t id = bits_of(copy->points[4ull * i + 3]);
            assert_true(id < count && !seen[id]);
            seen[id] = 1;
            assert_memory_equal(copy->points + 4ull * i, &copy->input[id], 3 * sizeof(float));
        }
    }
    for (uint32_t i = 0; i < count; ++i) {
        assert_true(seen[i]);
        assert_memory_equal(copy->nodes + 3ull * i, &copy->input[copy->ids[i]], 3 * sizeof(float));
    }
    free(seen);
}

/* Checks the boxes above the leaves, each of which bounds 32 of the level below, and the pairs
   above the leaves, which bound both children. */
static void check_upper(const index_copy *copy) {
    const point_index_cuda *index = &copy->index;
    for (uint32_t level = 1; level <= index->box_levels; ++level)
        for (uint32_t box = 0; box < index->box_count[level]; ++box) {
            corners right = nothing();
            for (uint32_t i = 32 * box; i < 32 * box + 32 && i < index->box_count[level - 1]; ++i) {
                corners child;
                memcpy(&child, copy->boxes + 8ull * (index->box_begin[level - 1] + i),
                       sizeof child);
                right = around(right, &child);
            }
            expect_corners(copy->boxes + 8ull * (index->box_begin[level] + box), &right);
        }
    for (uint32_t node = 0; node < index->pair_count / 2; ++node)
        for (uint32_t side = 0; side < 2; ++side) {
            const float *child = copy->pairs + 16ull * (2 * node + 1 + side);
            corners one, other;
            memcpy(&one, child, sizeof one);
            memcpy(&other, child + 6, sizeof other);
            const corners right = around(one, &other);
            expect_corners(copy->pairs + 16ull * node + 6 * side, &right);
        }
}

static void test_leaf_boxes_are_tight(void **state) {
    (void)state;
    static const uint32_t counts[] = {1,    2,    15,    31,    32,    33,   511,  512,
                                      513,  1022, 1023,  1024,  1025,  1535, 1536, 2047,
                                      2048, 2100, 3071,  3072,  4095,  4096, 5000, 8191,
                                      8192, 9000, 16383, 20000, 33000, 50000};
    for (int set = 0; set < CASE_POINT_SETS; ++set)
        for (int i = 0; i < (int)(sizeof counts / sizeof *counts); ++i) {
            if (gpu_leaves_out((uint32_t)(set + i), 7) && set != CASE_UNIFORM) continue;
            if (test_leaves_out((uint32_t)(set + i / 2), 3)) continue;
            index_copy copy;
            copy_open(&copy, (case_points)set, counts[i], (pointtree_split)(i % 2));
            check_leaves(&copy);
            check_upper(&copy);
            copy_close(&copy);
        }
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_leaf_boxes_are_tight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
