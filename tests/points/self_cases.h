/* Self-queries on any device, against the stack-free traversal over a copy of the points, which
   searches one neighbour more and then removes the point itself. */
#ifndef KD_TESTS_POINTS_SELF_CASES_H
#define KD_TESTS_POINTS_SELF_CASES_H
#include "points/api/points_device.h"
#include "tests/cases.h"
#include "tests/neighbours/searches.h"
#include "tests/test.h"
#include <kandela/points.h>
#include <stdio.h>

typedef struct self_case {
    const char *device;
    uint32_t count, dims;
    kd_scalar scalar;
    case_points which;
    kd_points_split split;
    bool named, skips;
    const char *method;
} self_case;

static kd_points_spread self_spread; /* how a tree is distributed over several devices */
/* number of points from which a device index is sorted; 0: the default */
static uint32_t own_sorts_from;

/* One case: the points, expected and actual results. */
typedef struct self_state {
    const self_case *test;
    void *cloud;
    uint32_t *names;
    kd_points *host_tree, *device_tree; /* one tree on the CPU, one on the device */
    kd_points_query query;
    uint32_t *ids, *got_ids, *counts, *got_counts, *order, *place_of;
    char *dist2, *got_dist2;
    uint64_t scalar_bytes;
} self_state;

static void *guarded_allocate(uint64_t bytes) {
    void *buffer = calloc(bytes + 8, 1);
    assert_non_null(buffer);
    return buffer;
}

static double own_coordinate(const self_case *test, uint32_t i, uint32_t axis) {
    const vec3 p = case_point(test->which, i, test->count);
    if (axis < 3) return (double)vec3_axis(p, (int)axis);
    return (double)vec3_axis(case_point(test->which, i + axis * test->count, test->count),
                             (int)axis % 3);
}

static kd_points *self_open(const self_state *state, const char *device) {
    const self_case *test = state->test;
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device);
    options.split = test->split;
    if (strchr(device, ',')) options.spread = self_spread;
    kd_point_array points =
        kd_point_array_make(state->cloud, test->count, test->dims, test->scalar);
    points.ids = test->named ? state->names : NULL;
    kd_points *tree = NULL;
    if (kd_points_open(&tree, &points, &options) != KD_OK) fail_msg("%s", kd_last_error());
    return tree;
}

static void self_begin(self_state *state, const self_case *test) {
    memset(state, 0, sizeof *state);
    state->test = test;
    state->scalar_bytes = test->scalar == KD_DOUBLE ? 8 : 4;
    state->cloud = guarded_allocate((uint64_t)test->count * test->dims * state->scalar_bytes);
    state->names = (uint32_t *)guarded_allocate(test->count * sizeof(uint32_t));
    state->place_of = (uint32_t *)guarded_allocate((3ull * test->count + 9) * sizeof(uint32_t));
    for (uint32_t i = 0; i < test->count; ++i) {
        state->names[i] = 2 * test->count + 1 - 2 * i;
        state->place_of[test->named ? state->names[i] : i] = i;
        for (uint32_t axis = 0; axis < test->dims; ++axis) {
            const double x = own_coordinate(test, i, axis);
            if (test->scalar == KD_DOUBLE)
                ((double *)state->cloud)[(uint64_t)i * test->dims + axis] = x;
            else
                ((float *)state->cloud)[(uint64_t)i * test->dims + axis] = (float)x;
        }
    }
    state->host_tree = self_open(state, "cpu");
    state->device_tree = self_open(state, test->device);
    kd_points_query_default(&state->query);
    state->query.skip_self = test->skips;
    state->query.points = kd_point_array_make(state->cloud, test->count, test->dims, test->scalar);
    state->order = (uint32_t *)guarded_allocate(test->count * sizeof(uint32_t));
    state->counts = (uint32_t *)guarded_allocate(test->count * sizeof(uint32_t));
    state->got_counts = (uint32_t *)guarded_allocate(test->count * sizeof(uint32_t));
}

static void self_give_rows(self_state *state) {
    free(state->ids);
    free(state->got_ids);
    free(state->dist2);
    free(state->got_dist2);
}

static void self_take_rows(self_state *state, uint64_t answers) {
    self_give_rows(state);
    state->ids = (uint32_t *)guarded_allocate(answers * sizeof(uint32_t));
    state->got_ids = (uint32_t *)guarded_allocate(answers * sizeof(uint32_t));
    state->dist2 = (char *)guarded_allocate(answers * state->scalar_bytes);
    state->got_dist2 = (char *)guarded_allocate(answers * state->scalar_bytes);
}

static void own_end(self_state *state) {
    self_give_rows(state);
    kd_points_close(state->host_tree);
    kd_points_close(state->device_tree);
    free(state->cloud);
    free(state->names);
    free(state->place_of);
    free(state->order);
    free(state->counts);
    free(state->got_counts);
}

/* Copies one result of a list to its row of expected results. */
static void own_copy(self_state *state, uint64_t to, const uint32_t *ids, const char *dist2,
                     uint64_t from) {
    state->ids[to] = ids[from];
    memcpy(state->dist2 + to * state->scalar_bytes, dist2 + from * state->scalar_bytes,
           state->scalar_bytes);
}

static uint32_t own_name(const self_state *state, uint32_t i) {
    return state->test->named ? state->names[i] : i;
}

static void self_expect_nearest(self_state *state, uint32_t k) {
    const uint32_t count = state->test->count, more = k + 1;
    uint32_t *ids = (uint32_t *)guarded_allocate((uint64_t)count * more * sizeof *ids);
    char *dist2 = (char *)guarded_allocate((uint64_t)count * more * state->scalar_bytes);
    uint32_t *actual = (uint32_t *)guarded_allocate(count * sizeof *actual);
    kd_points_query query = state->query;
    snprintf(query.method, sizeof query.method, "walk");
    assert_int_equal(kd_points_nearest(state->host_tree, &query, more, ids, dist2, actual), KD_OK);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t made = 0;
        const uint64_t from = (uint64_t)i * more, to = (uint64_t)i * k;
        for (uint32_t j = 0; j < actual[i] && made < k; ++j)
            if (!state->test->skips || ids[from + j] != own_name(state, i))
                own_copy(state, to + made++, ids, dist2, from + j);
        state->counts[i] = made;
        for (; made < k; ++made) {
            state->ids[to + made] = KD_NO_POINT;
            if (state->test->scalar == KD_DOUBLE)
                ((double *)(void *)state->dist2)[to + made] = (double)INFINITY;
            else
                ((float *)(void *)state->dist2)[to + made] = INFINITY;
        }
    }
    free(ids);
    free(dist2);
    free(actual);
}

/* Compares an actual row with the expected row of its point. */
static void self_compare(const self_state *state, uint64_t row, uint64_t expected,
                         uint64_t length) {
    assert_memory_equal(state->got_ids + row, state->ids + expected, length * sizeof(uint32_t));
    assert_memory_equal(state->got_dist2 + row * state->scalar_bytes,
                        state->dist2 + expected * state->scalar_bytes,
                        length * state->scalar_bytes);
}

/* Expects each point to have one row; returns the point of row i. */
static uint32_t self_row_of(const self_state *state, const uint32_t *order, uint32_t i,
                            char *seen) {
    const uint32_t point = order ? state->place_of[order[i]] : i;
    assert_true(point < state->test->count && !seen[point]);
    assert_true(!order || order[i] == own_name(state, point));
    seen[point] = 1;
    return point;
}

static void self_check_nearest(self_state *state, uint32_t k) {
    const uint32_t count = state->test->count;
    self_take_rows(state, (uint64_t)count * k);
    self_expect_nearest(state, k);
    for (int ordered = 0; ordered < 2; ++ordered) {
        uint32_t *order = ordered ? state->order : NULL;
        char *seen = (char *)guarded_allocate(count);
        if (self_nearest(state->device_tree, &state->query, k, order, state->got_ids,
                         state->got_dist2, state->got_counts) != KD_OK)
            fail_msg("%s", kd_last_error());
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t point = self_row_of(state, order, i, seen);
            assert_int_equal(state->got_counts[i], state->counts[point]);
            self_compare(state, (uint64_t)i * k, (uint64_t)point * k, k);
        }
        free(seen);
    }
}

static void self_check_within(self_state *state) {
    const uint32_t count = state->test->count;
    uint64_t *all = (uint64_t *)guarded_allocate((count + 1ull) * sizeof *all);
    uint64_t *offsets = (uint64_t *)guarded_allocate((count + 1ull) * sizeof *offsets);
    assert_int_equal(kd_points_within_count(state->host_tree, &state->query, all), KD_OK);
    uint32_t *ids = (uint32_t *)guarded_allocate(all[count] * sizeof *ids);
    char *dist2 = (char *)guarded_allocate(all[count] * state->scalar_bytes);
    assert_int_equal(kd_points_within(state->host_tree, &state->query, all, ids, dist2), KD_OK);
    self_take_rows(state, all[count]);
    for (int ordered = 0; ordered < 2; ++ordered) {
        uint32_t *order = ordered ? state->order : NULL;
        char *seen = (char *)guarded_allocate(count);
        if (self_within_count(state->device_tree, &state->query, order, offsets) != KD_OK ||
            self_within(state->device_tree, &state->query, order, offsets, state->got_ids,
                        state->got_dist2) != KD_OK)
            fail_msg("%s", kd_last_error());
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t point = self_row_of(state, order, i, seen);
            uint64_t made = all[point];
            for (uint64_t j = all[point]; j < all[point + 1]; ++j)
                if (!state->test->skips || ids[j] != own_name(state, point))
                    own_copy(state, made++, ids, dist2, j);
            assert_int_equal(offsets[i + 1] - offsets[i], made - all[point]);
            self_compare(state, offsets[i], all[point], made - all[point]);
        }
        free(seen);
    }
    if (count > 1 && offsets[count] > 0) { /* no longer the offsets of this query */
        offsets[1] = offsets[0] == offsets[1] ? offsets[1] + 1 : offsets[0];
        assert_int_not_equal(self_within(state->device_tree, &state->query, state->order, offsets,
                                         state->got_ids, state->got_dist2),
                             KD_OK);
    }
    free(all);
    free(offsets);
    free(ids);
    free(dist2);
}

/* Runs a case with every k that selects another kernel, and with a radius that contains about forty
   points. */
static void self_check(const self_case *test, const uint32_t *ks) {
    self_state state;
    self_begin(&state, test);
    snprintf(state.query.method, sizeof state.query.method, "%s", test->method);
    if (own_sorts_from) state.device_tree->cuda->index.sorts_from = own_sorts_from;
    for (int i = 0; ks[i]; ++i) self_check_nearest(&state, ks[i]);
    if (test->count > 40) {
        const double side = test->scalar == KD_DOUBLE
                                ? ((const double *)(const void *)state.dist2)[ks[0] - 1]
                                : (double)((const float *)(const void *)state.dist2)[ks[0] - 1];
        state.query.max_radius = 2 * sqrt(side);
        if (test->count <= 4096 && isfinite(state.query.max_radius)) {
            self_check_nearest(&state, ks[0]);
            self_check_within(&state);
        }
    }
    own_end(&state);
}

#endif
