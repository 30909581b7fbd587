/* Insertions and removals of points, with a model of the points present, for trees on any device: a
   changed tree is compared with a new one built on the CPU from the model. */
#ifndef KD_TESTS_POINTS_DYNAMIC_CASES_H
#define KD_TESTS_POINTS_DYNAMIC_CASES_H
#include "core/math/rng.h"
#include "points/api/dynamic.h"
#include "tests/cases.h"
#include "tests/test.h"
#include <kandela/points.h>

enum { MODEL_MAX = 6000, QUERIES = 24, K_MAX = 40, DIMS_MAX = 4 };

/* The points present, in the order of insertion. */
typedef struct model {
    double coordinates[MODEL_MAX * DIMS_MAX];
    uint32_t ids[MODEL_MAX];
    uint32_t count, dims, next;
    kd_scalar scalar;
    case_points from;
    const char *device; /* of the tree that changes */
    uint64_t drawn;
} model;

static model model_state;
static char packed[MODEL_MAX * DIMS_MAX * sizeof(double)], query_count[QUERIES * DIMS_MAX * 8];
static uint32_t ids[2][QUERIES * MODEL_MAX], counts[2][QUERIES];
static double dist2[2][QUERIES * MODEL_MAX];
static uint64_t offsets[2][QUERIES + 1];

static inline uint32_t draw(uint32_t below) {
    const rng_key key = rng_key_make(0x5eed, 0, model_state.drawn++);
    return (uint32_t)((uint64_t)rng_draw_words(key, 0, 0).word[0] * below >> 32);
}

static inline void put_scalars(void *to, const double *from, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        if (model_state.scalar == KD_DOUBLE)
            ((double *)to)[i] = from[i];
        else
            ((float *)to)[i] = (float)from[i];
}

static inline void make_point(double *to, uint32_t number) {
    for (uint32_t axis = 0; axis < model_state.dims; ++axis)
        to[axis] = (double)vec3_axis(case_point(model_state.from, number + axis / 3 * 977, 3000),
                                     (int)(axis % 3));
}

/* Returns the model's points from `first` on as a point array. */
static inline kd_point_array array_from(uint32_t first, bool named) {
    put_scalars(packed, model_state.coordinates + first * model_state.dims,
                (model_state.count - first) * model_state.dims);
    kd_point_array array = kd_point_array_make(packed, model_state.count - first, model_state.dims,
                                               model_state.scalar);
    if (named) array.ids = model_state.ids + first;
    return array;
}

static inline void insert(kd_points *tree, uint32_t count, bool named) {
    const uint32_t first = model_state.count;
    uint32_t first_id = 7;
    for (uint32_t i = 0; i < count; ++i) {
        make_point(model_state.coordinates + (first + i) * model_state.dims, draw(3000));
        model_state.ids[first + i] = named ? 3 * model_state.next + 5 : model_state.next;
        ++model_state.next;
    }
    model_state.count += count;
    const kd_point_array more = array_from(first, named);
    const kd_status inserted = kd_points_insert(tree, &more, &first_id);
    if (inserted != KD_OK) fail_msg("%s", kd_last_error());
    assert_int_equal(first_id, named ? KD_NO_POINT : model_state.next - count);
}

static inline void remove_some(kd_points *tree, uint32_t count) {
    static uint32_t gone[MODEL_MAX];
    if (count > model_state.count) count = model_state.count;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t place = draw(model_state.count);
        gone[i] = model_state.ids[place];
        memmove(model_state.ids + place, model_state.ids + place + 1,
                (model_state.count - place - 1) * sizeof *model_state.ids);
        memmove(model_state.coordinates + place * model_state.dims,
                model_state.coordinates + (place + 1) * model_state.dims,
                (model_state.count - place - 1) * model_state.dims * sizeof(double));
        --model_state.count;
    }
    assert_int_equal(kd_points_remove(tree, gone, count), KD_OK);
}

static inline kd_points_query query_of(void) {
    kd_points_query query;
    double places[QUERIES * DIMS_MAX];
    for (uint32_t i = 0; i < QUERIES; ++i) make_point(places + i * model_state.dims, draw(3000));
    put_scalars(query_count, places, QUERIES * model_state.dims);
    kd_points_query_default(&query);
    query.points = kd_point_array_make(query_count, QUERIES, model_state.dims, model_state.scalar);
    return query;
}

static inline void expect_same_rows(const kd_points *const trees[2], const kd_points_query *query,
                                    uint32_t k) {
    for (int t = 0; t < 2; ++t) {
        memset(ids[t], 0xee, QUERIES * (size_t)k * sizeof **ids);
        memset(dist2[t], 0xee, QUERIES * (size_t)k * sizeof **dist2);
        assert_int_equal(kd_points_nearest(trees[t], query, k, ids[t], dist2[t], counts[t]), KD_OK);
    }
    assert_memory_equal(counts[0], counts[1], sizeof *counts);
    assert_memory_equal(ids[0], ids[1], QUERIES * (size_t)k * sizeof **ids);
    assert_memory_equal(dist2[0], dist2[1], QUERIES * (size_t)k * sizeof **dist2);
}

static inline void expect_same_within(const kd_points *const trees[2],
                                      const kd_points_query *query) {
    for (int t = 0; t < 2; ++t) {
        assert_int_equal(kd_points_within_count(trees[t], query, offsets[t]), KD_OK);
        assert_true(offsets[t][QUERIES] <= QUERIES * MODEL_MAX);
        memset(dist2[t], 0xee, sizeof dist2[t]);
        assert_int_equal(kd_points_within(trees[t], query, offsets[t], ids[t], dist2[t]), KD_OK);
    }
    assert_memory_equal(offsets[0], offsets[1], sizeof *offsets);
    assert_memory_equal(ids[0], ids[1], offsets[0][QUERIES] * sizeof **ids);
    assert_memory_equal(dist2[0], dist2[1], sizeof *dist2);
}

static inline void expect_same_tree(const kd_points *const trees[2]) {
    static char coordinates[2][sizeof packed];
    static uint32_t order[2][MODEL_MAX];
    static uint8_t axes[2][MODEL_MAX];
    kd_points_info info[2];
    for (int t = 0; t < 2; ++t) {
        kd_points_describe(trees[t], &info[t]);
        assert_int_equal(info[t].count, model_state.count);
        assert_int_equal(kd_points_download(trees[t], coordinates[t], order[t], axes[t]), KD_OK);
    }
    assert_true(info[0].hash == info[1].hash);
    assert_memory_equal(info[0].lo, info[1].lo, sizeof info->lo);
    assert_memory_equal(info[0].hi, info[1].hi, sizeof info->hi);
    assert_true(info[0].bytes > 0 && info[1].layers == 1);
    assert_memory_equal(coordinates[0], coordinates[1], sizeof *coordinates);
    assert_memory_equal(order[0], order[1], sizeof *order);
    assert_memory_equal(axes[0], axes[1], sizeof *axes);
}

static inline kd_points_options on_device(const char *name) {
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", name);
    return options;
}

/* Compares with a newly built tree. `whole`: also the trees themselves, and the results of a
   self-query. */
static inline void expect_same(const kd_points *changed, bool whole) {
    kd_points *rebuilt = NULL;
    const kd_points_options options = on_device("cpu");
    const kd_point_array array = array_from(0, true);
    assert_int_equal(kd_points_open(&rebuilt, &array, &options), KD_OK);
    const kd_points *const trees[2] = {changed, rebuilt};
    kd_points_query query = query_of();
    expect_same_rows(trees, &query, 1 + draw(K_MAX));
    query.max_radius = 0.3;
    expect_same_within(trees, &query);
    if (whole) {
        expect_same_tree(trees);
        query.max_radius = (double)INFINITY;
        expect_same_rows(trees, &query, model_state.count + 3);
        double radii[QUERIES];
        for (uint32_t i = 0; i < QUERIES; ++i) radii[i] = draw(100) / 50.0;
        put_scalars(dist2[0], radii, QUERIES);
        memcpy(radii, dist2[0], sizeof radii);
        query.radii = radii;
        expect_same_within(trees, &query);
    }
    kd_points_close(rebuilt);
}

static inline kd_points *begin(case_points from, uint32_t dims, kd_scalar scalar, uint32_t count,
                               bool named) {
    kd_points *tree = NULL;
    const kd_points_options options = on_device(model_state.device);
    model_state.count = model_state.next = 0;
    model_state.dims = dims;
    model_state.scalar = scalar;
    model_state.from = from;
    for (uint32_t i = 0; i < count; ++i, ++model_state.next) {
        make_point(model_state.coordinates + i * dims, i);
        model_state.ids[i] = named ? 3 * i + 5 : i;
    }
    model_state.count = count;
    const kd_point_array array = array_from(0, named);
    assert_int_equal(kd_points_open(&tree, &array, &options), KD_OK);
    return tree;
}

/* `small`: layers of so few points that a device always merges them. */
static inline void mixed_batches(case_points from, uint32_t dims, kd_scalar scalar, uint32_t count,
                                 bool named, int batches, uint64_t small) {
    kd_points *tree = begin(from, dims, scalar, count, named);
    assert_int_equal(points_begin_change(tree), KD_OK);
    tree->dynamic->small = small;
    kd_points_info info;
    uint32_t layers = 0;
    for (int b = 0; b < batches; ++b) {
        const uint32_t size = draw(4) ? draw(20) : draw(400);
        if (draw(2) && model_state.count + size <= MODEL_MAX / 2)
            insert(tree, size, named);
        else
            remove_some(tree, size);
        if (draw(60) == 0) assert_int_equal(kd_points_rebuild(tree), KD_OK);
        expect_same(tree, b % 25 == 24 || b + 1 == batches);
        if (b % 10) continue;
        kd_points_describe(tree, &info);
        if (info.layers > layers) layers = info.layers;
    }
    const bool by_leaves =
        strcmp(model_state.device, "cpu") == 0 || (dims == 3 && scalar == KD_FLOAT);
    if (batches >= 100 && small == 0 && by_leaves) assert_true(layers >= 3);
    assert_int_equal(kd_points_rebuild(tree), KD_OK);
    kd_points_describe(tree, &info);
    assert_int_equal(info.layers, 1);
    expect_same(tree, true);
    kd_points_close(tree);
}

/* All points are removed, and others inserted. */
static inline void a_tree_may_become_empty(void **state) {
    (void)state;
    kd_points *tree = begin(CASE_UNIFORM, 3, KD_FLOAT, 700, false);
    remove_some(tree, 600);
    expect_same(tree, true);
    remove_some(tree, 100);
    expect_same(tree, true);
    insert(tree, 3, false);
    assert_int_equal(model_state.ids[0], 700); /* no id is used twice */
    expect_same(tree, true);
    kd_points_close(tree);
}

#endif
